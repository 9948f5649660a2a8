/** Notices two devices that have the key of one node, as after a disk was copied. What is known is stored, so that all replicas see it. */
import type { StartClaim } from '@selvedge/protocol/tokens'
import type { Clock } from '@selvedge/service-kit/clock'
import { refusesWrites, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Audit } from '../../storage/audit/audit.ts'
import type { Node } from './nodes.ts'
import { type Turns, takeTurn } from './turns.ts'

export interface Copies {
  /**
   * Follows a request of a node that is in the registry. The audit log of its account has each copy once.
   *
   * @param address network address of the request
   * @returns whether two devices have the key of the node
   */
  follow(
    start: StartClaim,
    node: Pick<Node, 'nodeId' | 'accountId' | 'name'>,
    address: string,
  ): Promise<boolean>
}

/** Attempts to write while other requests of the node are written. What is lost is seen with the next request. */
const maxAttempts = 3

export function createCopies(store: SqlStore, clock: Clock, audit: Pick<Audit, 'record'>): Copies {
  async function write(statement: Statement): Promise<boolean> {
    try {
      return (await store.run(statement)).length > 0
    } catch (cause) {
      // A database that only reads: the device gets its token all the same.
      if (refusesWrites(cause)) return false
      throw cause
    }
  }

  return {
    async follow({ id, count }, { nodeId, accountId, name }, address) {
      for (let attempt = 1; ; attempt++) {
        const [row] = await store.run(sql`SELECT turns FROM device_turns WHERE node_id = ${nodeId}`)
        const before = row?.turns as string | undefined
        const now = clock.now()
        const turn = takeTurn(
          before === undefined ? undefined : (JSON.parse(before) as Turns),
          { id, count },
          now,
        )
        if (turn.next === undefined) return turn.isCopy
        const isWritten = await write(statementOf(nodeId, before, JSON.stringify(turn.next)))
        if (!isWritten && attempt < maxAttempts) continue
        if (isWritten && turn.isNews && accountId !== '')
          await audit.record({
            ...{ accountId, actor: 'the device', action: 'device.copy', subject: nodeId, address },
            ...{ outcome: 'ok', detail: name },
          })
        return turn.isCopy
      }
    },
  }
}

/** Writes what is known, unless another request has written meanwhile. */
const statementOf = (nodeId: string, before: string | undefined, next: string): Statement =>
  before === undefined
    ? sql`INSERT INTO device_turns SELECT node_id, CAST(${next} AS TEXT) FROM nodes WHERE node_id = ${nodeId}
        ON CONFLICT DO NOTHING RETURNING node_id`
    : sql`UPDATE device_turns SET turns = ${next} WHERE node_id = ${nodeId} AND turns = ${before} RETURNING node_id`
