/** What nodes state about themselves apart from their location, and roughly when they last reported. */

import { maxStated, type NodeService } from '@selvedge/protocol'
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
  /** Unix milliseconds; 0 where no track is kept. */
  readonly trackUntil: number
}

export interface Registry {
  /**
   * Writes what a node says.
   *
   * @param leave called first if the node was of another account: what that one knows of the node is to be forgotten. If it
   *   rejects, nothing is written, so that the next try finds the same
   */
  state(
    node: Omit<RegisteredNode, 'heardAt'>,
    leave: (formerAccountId: string) => Promise<void>,
  ): Promise<void>
  /** Notes a sign of life; it is written now and then, many at once. */
  heard(nodeId: string): void
  /** Nodes of an account by their id. @param after the last one of the page before, or "" */
  page(accountId: string, after: string, limit: number): Promise<RegisteredNode[]>
  /** Nodes of an account among these. */
  find(accountId: string, nodeIds: readonly string[]): Promise<RegisteredNode[]>
  close(): Promise<void>
}

/** Maximum nodes of one statement. */
const most = 500
/** Maximum nodes whose last written sign of life is in memory. */
const remembered = 2_000_000

/** @param interval milliseconds between two writes of a node's signs of life */
export function createRegistry(database: SqlStore, clock: Clock, log: Log, interval: number): Registry {
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
  const flush = shareRun(write)
  const timer = setInterval(safely('registry.flush', flush), Math.min(interval, 5000))

  return {
    async state({ nodeId, nodeName, accountId, addresses, services, trackUntil }, leave) {
      const now = clock.now()
      const [before] = await database.run(
        sql`SELECT account_id, track_until FROM nodes WHERE node_id = ${nodeId}`,
      )
      const said = [JSON.stringify(addresses), JSON.stringify(services)] as const
      const statements: Statement[] = [
        sql`INSERT INTO nodes VALUES (${nodeId}, ${nodeName}, ${accountId}, ${said[0]}, ${said[1]}, ${now}, ${trackUntil})
          ON CONFLICT (node_id) DO UPDATE SET node_name = excluded.node_name, account_id = excluded.account_id,
            addresses = excluded.addresses, services = excluded.services, heard_at = excluded.heard_at,
            track_until = excluded.track_until`,
      ]
      const left = before !== undefined && before.account_id !== accountId
      if (left) await leave(before.account_id as string)
      // A track is the account's, and is deleted with its end.
      if (left || trackUntil === 0) statements.push(sql`DELETE FROM tracks WHERE node_id = ${nodeId}`)
      await database.transaction(statements)
      written.set(nodeId, now)
    },
    heard(nodeId) {
      const now = clock.now()
      if (Math.abs(now - (written.get(nodeId) ?? 0)) < interval) return
      written.set(nodeId, now)
      waiting.set(nodeId, now)
    },
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
    async close() {
      clearInterval(timer)
      await flush()
      await flush()
    },
  }
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
