/** What nodes state about themselves apart from their location, and roughly when they last reported. */
import { createHash } from 'node:crypto'
import { maxStated, type NodeService, OAuthError } from '@selvedge/protocol'
import type { EdgeIdClaims } from '@selvedge/protocol/tokens'
import type { Clock } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { safely } from '@selvedge/service-kit/safely'
import { shareRun } from '@selvedge/service-kit/share'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { RecentMap } from '@selvedge/service-kit/tokens'

export interface RegisteredNode {
  readonly nodeId: string
  readonly nodeName: string
  readonly accountId: string
  readonly addresses: readonly string[]
  readonly services: readonly NodeService[]
  /** Unix milliseconds, to within the interval of writing. */
  readonly heardAt: number
  /** Unix milliseconds; 0 if no track is stored. */
  readonly trackUntil: number
}

/** As much of an edge ID token as orders it among those of its node. */
type OwnershipToken = Pick<EdgeIdClaims, 'iss' | 'iat' | 'epoch'>

export interface Registry {
  /**
   * Writes the statement of a node.
   *
   * @param token the token that names the account of the node
   * @returns the number of the account's ownership of the node, which grows when a node changes hands
   * @throws OAuthError `invalid_token` if the token is from before the node changed hands; `access_denied` if the account has too
   *   many nodes
   * @param leave called first if the node was of another account: what that one knows of the node is to be forgotten. If it
   *   rejects, nothing is written, so that the next try finds the same
   */
  state(
    node: Omit<RegisteredNode, 'heardAt'>,
    token: OwnershipToken,
    leave: (formerAccountId: string, term: number) => Promise<void>,
  ): Promise<number>
  /** Records that a node reported. The time is written with a delay, for many nodes at once (group commit). */
  heard(nodeId: string): void
  /** Signs of life that were not written yet. */
  waiting(): number
  /** Nodes of an account by their id. @param after the last one of the page before, or "" */
  page(accountId: string, after: string, limit: number): Promise<RegisteredNode[]>
  /** Nodes of an account among these. */
  find(accountId: string, nodeIds: readonly string[]): Promise<RegisteredNode[]>
  /**
   * Forgets nodes that were silent since a time, with their tracks.
   *
   * @param forget called first for each of them; if it rejects, the node stays until the next try
   */
  forgetSilent(
    since: number,
    forget: (node: { readonly nodeId: string; readonly accountId: string }) => Promise<void>,
  ): Promise<void>
  close(): Promise<void>
}

/** Maximum nodes of one statement. */
const most = 500
/** Maximum nodes with a cached time of their last write. */
const remembered = 2_000_000

export interface RegistryParts {
  readonly database: SqlStore
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds between two writes of a node's signs of life. */
  readonly writeIntervalMs: number
  /** Most nodes of one account. */
  readonly maxNodes: number
}

export function createRegistry({ database, clock, log, writeIntervalMs, maxNodes }: RegistryParts): Registry {
  const written = new RecentMap<string, number>(remembered)
  let waiting = new Map<string, number>()

  async function write(): Promise<void> {
    const all = [...waiting]
    waiting = new Map()
    for (let at = 0; at < all.length; at += most) {
      const some = all.slice(at, at + most)
      await database
        .run(touch(some))
        .catch((cause) => log.error('signs of life can not be written', { cause }))
    }
  }
  async function expectRoom(accountId: string): Promise<void> {
    const [row] = await database.run(sql`SELECT COUNT(*) AS total FROM nodes WHERE account_id = ${accountId}`)
    if (Number(row!.total) < maxNodes) return
    const hint =
      'remove devices of the account that are gone, wait until they are forgotten, or raise limits.nodes of the discovery service'
    throw new OAuthError('access_denied', `the account has ${maxNodes} nodes already; ${hint}`)
  }

  const flush = shareRun(write)
  const timer = setInterval(safely('registry.flush', flush), Math.min(writeIntervalMs, 5000))

  return {
    async state(node, token, leave) {
      const { nodeId, accountId, trackUntil } = node
      const now = clock.now()
      const [before] = await database.run(sql`SELECT * FROM nodes WHERE node_id = ${nodeId}`)
      const isOther = before?.account_id !== accountId
      if (before && isOther && isOlder(token, before))
        throw new OAuthError('invalid_token', 'the edge ID token was issued before the node changed accounts')
      if (isOther) await expectRoom(accountId)
      const known = Number(before?.term ?? -1)
      const term = isOther ? Math.max(known + 1, now) : known
      const left = before !== undefined && isOther
      if (left) {
        // The number first: if the rest fails, later sessions of the former account have it, too.
        await database.run(sql`UPDATE nodes SET term = ${term} WHERE node_id = ${nodeId} AND term = ${known}`)
        await leave(before.account_id as string, term)
      }
      const statements = [upsert(node, { term, now, token, maxNodes: isOther ? maxNodes : undefined })]
      // A track is the account's, and is deleted with its end.
      if (left || trackUntil === 0)
        statements.push(
          sql`DELETE FROM tracks WHERE node_id = ${nodeId} AND (SELECT term FROM nodes WHERE node_id = ${nodeId}) = ${term}`,
        )
      const lock = isOther ? [lockOf(accountId)] : []
      const results = await database.transaction([...lock, ...statements])
      const stored = results[lock.length] ?? []
      if (stored.length === 0) {
        if (isOther) await expectRoom(accountId)
        throw new OAuthError('invalid_token', 'the node changed accounts at the same time; try again')
      }
      written.set(nodeId, now)
      return term
    },
    heard(nodeId) {
      const now = clock.now()
      if (Math.abs(now - (written.get(nodeId) ?? 0)) < writeIntervalMs) return
      written.set(nodeId, now)
      waiting.set(nodeId, now)
    },
    waiting: () => waiting.size,
    async page(accountId, after, limit) {
      const rows = await database.run(
        sql`SELECT * FROM nodes WHERE account_id = ${accountId} AND node_id > ${after} ORDER BY node_id LIMIT ${limit}`,
      )
      return rows.map(toNode)
    },
    async find(accountId, nodeIds) {
      if (nodeIds.length === 0) return []
      const marks = nodeIds.map(() => '?').join(', ')
      const rows = await database.run({
        sql: `SELECT * FROM nodes WHERE account_id = ? AND node_id IN (${marks})`,
        values: [accountId, ...nodeIds],
      })
      return rows.map(toNode)
    },
    async forgetSilent(since, forget) {
      for (;;) {
        const silent = await database.run(
          sql`SELECT node_id, account_id FROM nodes WHERE heard_at < ${since} ORDER BY heard_at LIMIT ${most}`,
        )
        if (silent.length === 0) return
        for (const { node_id, account_id } of silent) {
          const nodeId = node_id as string
          await forget({ nodeId, accountId: account_id as string })
          written.delete(nodeId)
          await database.transaction([
            sql`DELETE FROM tracks WHERE node_id = ${nodeId} AND EXISTS
              (SELECT 1 FROM nodes WHERE node_id = ${nodeId} AND heard_at < ${since})`,
            sql`DELETE FROM nodes WHERE node_id = ${nodeId} AND heard_at < ${since}`,
          ])
        }
      }
    },
    async close() {
      clearInterval(timer)
      await flush()
      await flush()
    },
  }
}

/**
 * Whether a token was issued before the one by which the present owner was stated. Numbers of one issuer decide, then its clock.
 */
function isOlder({ iss, iat, epoch = 0 }: OwnershipToken, before: Row): boolean {
  if (iss !== before.token_issuer) return false
  const knownEpoch = Number(before.token_epoch)
  return epoch === knownEpoch ? iat < Number(before.token_iat) : epoch < knownEpoch
}

/** Rows that lock the counting of nodes; an account always has the same one. */
const locks = 64

/**
 * Nodes that join an account are counted one after the other: with PostgreSQL a statement does not see what others have not
 * committed.
 */
function lockOf(accountId: string): Statement {
  const name = `nodes ${createHash('sha256').update(accountId).digest()[0]! % locks}`
  return sql`INSERT INTO counters VALUES (${name}, 0) ON CONFLICT (name) DO UPDATE SET value = counters.value`
}

/** @param maxNodes of the account that the node joins; undefined if it is in it already */
function upsert(
  { nodeId, nodeName, accountId, addresses, services, trackUntil }: Omit<RegisteredNode, 'heardAt'>,
  {
    term,
    now,
    token: { iss, iat, epoch = 0 },
    maxNodes = Number.MAX_SAFE_INTEGER,
  }: { term: number; now: number; token: OwnershipToken; maxNodes: number | undefined },
): Statement {
  const [said, served] = [JSON.stringify(addresses), JSON.stringify(services)]
  return sql`INSERT INTO nodes (node_id, node_name, account_id, addresses, services, heard_at, track_until,
      term, token_issuer, token_epoch, token_iat)
    SELECT CAST(${nodeId} AS TEXT), CAST(${nodeName} AS TEXT), CAST(${accountId} AS TEXT), CAST(${said} AS TEXT),
      CAST(${served} AS TEXT), CAST(${now} AS BIGINT), CAST(${trackUntil} AS BIGINT), CAST(${term} AS BIGINT),
      CAST(${iss} AS TEXT), CAST(${epoch} AS BIGINT), CAST(${Math.floor(iat)} AS BIGINT)
    WHERE (SELECT COUNT(*) FROM nodes WHERE account_id = ${accountId}) < ${maxNodes}
    ON CONFLICT (node_id) DO UPDATE SET node_name = excluded.node_name, account_id = excluded.account_id,
      addresses = excluded.addresses, services = excluded.services, heard_at = excluded.heard_at,
      track_until = excluded.track_until, term = excluded.term, token_issuer = excluded.token_issuer,
      token_epoch = CASE WHEN nodes.token_issuer = excluded.token_issuer AND nodes.token_epoch > excluded.token_epoch
        THEN nodes.token_epoch ELSE excluded.token_epoch END,
      token_iat = CASE WHEN nodes.token_issuer = excluded.token_issuer AND nodes.token_iat > excluded.token_iat
        THEN nodes.token_iat ELSE excluded.token_iat END
    WHERE nodes.term <= excluded.term RETURNING node_id`
}

/** Later than what is there, for many nodes at once. */
function touch(nodes: readonly (readonly [string, number])[]): Statement {
  const marks = nodes.map(() => '?').join(', ')
  const newest = nodes.reduce((latest, [, at]) => Math.max(latest, at), 0)
  return {
    sql: `UPDATE nodes SET heard_at = ? WHERE heard_at < ? AND node_id IN (${marks})`,
    values: [newest, newest, ...nodes.map(([nodeId]) => nodeId)],
  }
}

const toNode = (row: Row): RegisteredNode => ({
  nodeId: row.node_id as string,
  nodeName: row.node_name as string,
  accountId: row.account_id as string,
  addresses: (JSON.parse(row.addresses as string) as string[]).slice(0, maxStated.addresses),
  services: JSON.parse(row.services as string) as NodeService[],
  heardAt: row.heard_at as number,
  trackUntil: row.track_until as number,
})
