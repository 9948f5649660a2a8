/**
 * Join keys: with one, new devices join an account without a person. The secret is stored as a hash. A key counts while it is not revoked,
 * its maker is an owner of the account, its project is active, and until it expires or is used up.
 */
import { hash, randomBytes, randomUUID } from 'node:crypto'
import { RpcError } from '@selvedge/protocol'
import { type JoinKeyEnding, maxAccountTags, type ShownJoinKey } from '@selvedge/protocol/console'
import { joinLimits } from '@selvedge/protocol/tokens'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'

interface NewJoinKey {
  readonly accountId: string
  /** Person ID of the owner. */
  readonly madeBy: string
  readonly title: string
  /** Template of names; "" without one. */
  readonly name: string
  readonly tags: readonly string[]
  /** Client ID; "" without a project. */
  readonly project: string
  readonly uses: number
  readonly approve: boolean
  /** Unix milliseconds. */
  readonly until: number
}

type JoinUseState = 'waiting' | 'approved' | 'refused' | 'joined'

/** A join key as the device finds it that shows the secret. */
export interface JoinKey {
  readonly keyId: string
  readonly accountId: string
  readonly title: string
  readonly name: string
  readonly tags: readonly string[]
  readonly needsApproval: boolean
  /** Number of the newest change when it was made. */
  readonly epoch: number
  readonly isRevoked: boolean
  /** Why no more devices may join by it. */
  readonly ending: JoinKeyEnding | undefined
  /** What the device has used it for. */
  readonly use: JoinUseState | undefined
  /** Account of the device in the registry, and the number of the change with which it last left one; "" and 0 of a new one. */
  readonly device: { readonly accountId: string; readonly leftAt: number }
}

export interface JoinKeys {
  /**
   * @returns the secret, which is not stored
   * @throws RpcError `not_found` for the project, `invalid_params` for the time, `limit_exceeded` for keys and tags, `conflict` if the right is gone meanwhile
   */
  create(key: NewJoinKey): Promise<{ readonly secret: string; readonly shown: ShownJoinKey }>
  /** Newest first. */
  list(accountId: string): Promise<ShownJoinKey[]>
  /**
   * Revokes a key, again without effect.
   *
   * @param blocksFor e-mail address of the owner for whom its devices are blocked; "": they stay
   * @throws RpcError `not_found`
   */
  revoke(accountId: string, keyId: string, blocksFor: string): Promise<ShownJoinKey>
  /** The key with a secret, as one device finds it. */
  find(secret: string, nodeId: string): Promise<JoinKey | undefined>
}

/** Milliseconds. */
const times = { shortest: 60_000, longest: joinLimits.days * 86_400_000 }

const hashOf = (secret: string): string => hash('sha256', secret, 'base64url')

/** Waits for what changes members, nodes or projects, or lets a device join, which all count in this row. */
export const takeTurn = sql`UPDATE counters SET value = value WHERE name = 'changes'`

/** How many devices have used a key: the largest number of a use, which has an index. */
export const usedCount = `COALESCE((SELECT MAX(number) FROM join_uses WHERE join_uses.key_id = join_keys.key_id), 0)`

const hasMaker = `EXISTS (SELECT 1 FROM members WHERE members.account_id = join_keys.account_id
  AND members.person_id = join_keys.made_by AND members.role = 'owner')`
const hasProject = `(join_keys.client_id = '' OR EXISTS (SELECT 1 FROM projects WHERE projects.client_id = join_keys.client_id
  AND projects.active = 1))`

/** Condition on a row of `join_keys`: an owner has to approve each device, by the key itself or by the rules of the account. */
export const needsApproval = `(join_keys.needs_approval = 1 OR EXISTS (SELECT 1 FROM join_rules
  WHERE join_rules.account_id = join_keys.account_id AND join_rules.needs_approval = 1))`

/** Condition on a row of `join_keys`: another device may use it. @param now Unix milliseconds */
export const isOpen = (now: number): Statement => ({
  sql: `join_keys.revoked_at IS NULL AND join_keys.expires_at > ? AND ${usedCount} < join_keys.max_uses AND ${hasMaker} AND ${hasProject}`,
  values: [now],
})

const columns = `join_keys.*, ${usedCount} AS used, CASE WHEN ${hasMaker} THEN 1 ELSE 0 END AS has_maker,
  CASE WHEN ${hasProject} THEN 1 ELSE 0 END AS has_project, CASE WHEN ${needsApproval} THEN 1 ELSE 0 END AS is_approved_first`

/** @param tagsOf tags of the devices of an account, at most as many as it may have */
export function createJoinKeys(
  store: SqlStore,
  clock: Clock,
  tagsOf: (accountId: string) => Promise<readonly string[]>,
): JoinKeys {
  async function list(accountId: string, more: Statement): Promise<ShownJoinKey[]> {
    const rows = await store.run({
      sql: `SELECT ${columns}, (SELECT COUNT(*) FROM join_uses WHERE join_uses.key_id = join_keys.key_id AND state = 'waiting') AS waiting,
          (SELECT email FROM people WHERE people.person_id = join_keys.made_by) AS email
        FROM join_keys WHERE account_id = ? ${more.sql} ORDER BY created_at DESC, key_id LIMIT ${joinLimits.keys}`,
      values: [accountId, ...more.values],
    })
    return rows.map((row) => toShown(row, clock.now()))
  }

  async function expectProject({ accountId, project }: NewJoinKey): Promise<void> {
    if (project === '') return
    const rows = await store.run(
      sql`SELECT 1 AS one FROM projects WHERE client_id = ${project} AND account_id = ${accountId} AND active = 1`,
    )
    if (rows.length === 0)
      throw new RpcError('not_found', `the account has no active project ${JSON.stringify(project)}`)
  }

  return {
    async create(key) {
      const now = clock.now()
      if (!(key.until >= now + times.shortest && key.until <= now + times.longest))
        throw new RpcError('invalid_params', `a join key lasts from a minute to ${joinLimits.days} days`)
      await expectProject(key)
      await expectTags(store, key, await tagsOf(key.accountId), now)
      const [secret, keyId] = [`sj_${randomBytes(24).toString('base64url')}`, randomUUID()]
      const [, rows] = await store.transaction([takeTurn, insertKey(keyId, hashOf(secret), key, now)])
      const [shown] = rows![0] ? await list(key.accountId, sql`AND key_id = ${keyId}`) : []
      return shown ? { secret, shown } : explainRefusal(store, key.accountId)
    },
    list: (accountId) => list(accountId, sql``),
    async revoke(accountId, keyId, blocksFor) {
      const [, rows] = await store.transaction([
        takeTurn,
        sql`UPDATE join_keys SET revoked_at = COALESCE(revoked_at, ${clock.now()}),
            blocks_for = CASE WHEN ${blocksFor} = '' THEN blocks_for ELSE ${blocksFor} END
          WHERE key_id = ${keyId} AND account_id = ${accountId} RETURNING key_id`,
      ])
      const [shown] = rows![0] ? await list(accountId, sql`AND key_id = ${keyId}`) : []
      if (shown) return shown
      throw new RpcError('not_found', 'the account has no such join key')
    },
    async find(secret, nodeId) {
      const [row] = await store.run({
        sql: `SELECT ${columns}, own.state AS use_state, nodes.account_id AS node_account, nodes.account_epoch FROM join_keys
          LEFT JOIN join_uses AS own ON own.key_id = join_keys.key_id AND own.node_id = ?
          LEFT JOIN nodes ON nodes.node_id = ? WHERE hash = ?`,
        values: [nodeId, nodeId, hashOf(secret)],
      })
      return row && toJoinKey(row, clock.now())
    },
  }
}

/** Its devices get the tags later: they count now, with those of other keys. @param present tags of the devices of the account */
async function expectTags(
  store: SqlStore,
  { accountId, tags }: NewJoinKey,
  present: readonly string[],
  now: number,
): Promise<void> {
  if (tags.length === 0) return
  const rows = await store.run(
    sql`SELECT tags FROM join_keys WHERE account_id = ${accountId} AND revoked_at IS NULL AND expires_at > ${now}
      AND tags <> '[]' LIMIT ${joinLimits.keys}`,
  )
  const known = new Set([...present, ...rows.flatMap((row) => JSON.parse(row.tags as string) as string[])])
  const added = tags.filter((tag) => !known.has(tag))
  if (added.length > 0 && known.size + added.length > maxAccountTags)
    throw new RpcError(
      'limit_exceeded',
      `an account has at most ${maxAccountTags} different tags, with those of its join keys`,
      { hint: 'Use tags that the account has, or revoke keys that are no longer needed.' },
    )
}

/** The conditions are checked again by the statement itself: what they are about may change at another replica. */
const insertKey = (keyId: string, secretHash: string, key: NewJoinKey, now: number): Statement =>
  sql`INSERT INTO join_keys SELECT CAST(${keyId} AS TEXT), CAST(${key.accountId} AS TEXT), CAST(${secretHash} AS TEXT),
      CAST(${key.title} AS TEXT), CAST(${key.name} AS TEXT), CAST(${JSON.stringify(key.tags)} AS TEXT), CAST(${key.project} AS TEXT),
      CAST(${key.uses} AS BIGINT), CAST(${key.approve ? 1 : 0} AS INTEGER), CAST(${key.madeBy} AS TEXT), value,
      CAST(${now} AS BIGINT), CAST(${key.until} AS BIGINT), NULL, ''
    FROM counters WHERE name = 'changes'
      AND EXISTS (SELECT 1 FROM members WHERE account_id = ${key.accountId} AND person_id = ${key.madeBy} AND role = 'owner')
      AND (${key.project} = '' OR EXISTS (SELECT 1 FROM projects WHERE client_id = ${key.project} AND active = 1))
      AND (SELECT COUNT(*) FROM join_keys WHERE account_id = ${key.accountId}) < ${joinLimits.keys}
    RETURNING key_id`

async function explainRefusal(store: SqlStore, accountId: string): Promise<never> {
  const [row] = await store.run(sql`SELECT COUNT(*) AS count FROM join_keys WHERE account_id = ${accountId}`)
  if (Number(row!.count) >= joinLimits.keys)
    throw new RpcError(
      'limit_exceeded',
      `an account has at most ${joinLimits.keys} join keys, with those of the last 90 days`,
      { hint: 'Make keys with more uses.' },
    )
  throw new RpcError('conflict', 'the project or your role has changed meanwhile')
}

function endingOf(row: Row, now: number): JoinKeyEnding | undefined {
  if (row.has_maker === 0) return 'maker'
  if (row.has_project === 0) return 'project'
  if (row.revoked_at !== null) return 'revoked'
  if ((row.expires_at as number) <= now) return 'expired'
  return Number(row.used) >= (row.max_uses as number) ? 'used_up' : undefined
}

const toJoinKey = (row: Row, now: number): JoinKey => ({
  keyId: row.key_id as string,
  accountId: row.account_id as string,
  title: row.title as string,
  name: row.name as string,
  tags: JSON.parse(row.tags as string),
  needsApproval: row.is_approved_first === 1,
  epoch: row.epoch as number,
  isRevoked: row.revoked_at !== null,
  ending: endingOf(row, now),
  use: (row.use_state as JoinUseState | null) ?? undefined,
  device: {
    accountId: (row.node_account as string | null) ?? '',
    leftAt: (row.account_epoch as number | null) ?? 0,
  },
})

const toShown = (row: Row, now: number): ShownJoinKey => ({
  keyId: row.key_id as string,
  title: row.title as string,
  name: row.name as string,
  tags: JSON.parse(row.tags as string),
  project: (row.client_id as string) || null,
  uses: row.max_uses as number,
  used: Number(row.used),
  waiting: Number(row.waiting),
  approve: row.needs_approval === 1,
  madeBy: (row.email as string | null) ?? '',
  createdAt: isoTime(row.created_at as number),
  expiresAt: isoTime(row.expires_at as number),
  ending: endingOf(row, now) ?? null,
})
