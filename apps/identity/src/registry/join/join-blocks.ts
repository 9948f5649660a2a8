/** Blocks the devices that joined by a key that an owner revoked together with them: some at once, the rest with the sweeps. */
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import type { Audit } from '../../storage/audit/audit.ts'
import type { SweepTask } from '../../storage/sweep/sweep.ts'
import type { Nodes } from '../nodes/nodes.ts'

export interface JoinBlocks {
  /** Blocks devices of a key, at most a hundred. @returns how many were blocked, and how many are left */
  block(keyId: string, address: string): Promise<{ readonly blocked: number; readonly toBlock: number }>
  /** Continues with what is left, also after a restart. */
  readonly task: SweepTask
}

/** Devices that one call, or one sweep, blocks of a key; and keys of one sweep. */
const most = { devices: 100, keys: 10 }

/** A device that joined by the key, belongs to its account since, and is not blocked. */
const blockable = `FROM join_uses JOIN join_keys ON join_keys.key_id = join_uses.key_id
  JOIN nodes ON nodes.node_id = join_uses.node_id AND nodes.account_id = join_uses.account_id
    AND nodes.account_epoch <= join_uses.epoch AND nodes.blocked_at IS NULL
  WHERE join_uses.key_id = ? AND join_uses.state = 'joined' AND join_keys.blocks_for <> ''`

export function createJoinBlocks(
  store: SqlStore,
  nodes: Pick<Nodes, 'setBlocked'>,
  audit: Pick<Audit, 'record'>,
): JoinBlocks {
  async function left(keyId: string): Promise<number> {
    const [row] = await store.run({ sql: `SELECT COUNT(*) AS count ${blockable}`, values: [keyId] })
    return Number(row!.count)
  }

  async function block(keyId: string, address: string) {
    const rows = await store.run({
      sql: `SELECT join_uses.node_id, join_uses.account_id, blocks_for ${blockable} ORDER BY join_uses.number LIMIT ${most.devices}`,
      values: [keyId],
    })
    for (const row of rows) {
      const { node_id: subject, account_id: accountId, blocks_for: actor } = row as Record<string, string>
      await nodes.setBlocked(subject!, true)
      const entry = {
        accountId: accountId!,
        actor: actor!,
        action: 'device.block',
        subject: subject!,
        address,
      }
      await audit.record({ ...entry, outcome: 'ok', detail: `it joined with the join key ${keyId}` })
    }
    const toBlock = await left(keyId)
    // The key was revoked before: no device joins by it any more.
    if (toBlock === 0) await store.run(sql`UPDATE join_keys SET blocks_for = '' WHERE key_id = ${keyId}`)
    return { blocked: rows.length, toBlock }
  }

  return {
    block,
    task: {
      name: 'join_keys.blocks',
      async run() {
        const rows = await store.run(
          sql`SELECT key_id FROM join_keys WHERE blocks_for <> '' ORDER BY key_id LIMIT ${most.keys}`,
        )
        for (const { key_id } of rows) await block(key_id as string, '')
      },
    },
  }
}
