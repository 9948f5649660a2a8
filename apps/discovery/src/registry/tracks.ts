/** Where nodes went, for as long as their owners asked for it. */
import { trackLimits } from '@selvedge/protocol'
import type { SteadyClock } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { RecentMap } from '@selvedge/service-kit/tokens'

interface TrackPoint {
  readonly longitude: number
  readonly latitude: number
  readonly fixedAt: number
}

export interface Tracks {
  /** Adds points, unless the node has changed hands since: a track is the present owner's. */
  add(node: { readonly nodeId: string; readonly term: number }, points: readonly TrackPoint[]): Promise<void>
  /** The last points before a time in Unix milliseconds, oldest first. */
  of(nodeId: string, limit: number, before?: number): Promise<TrackPoint[]>
  /** Deletes expired tracks, every minute. */
  sweep(): Promise<void>
  close(): void
}

/** Points after which the number of points of a node is checked: a device that reports without end must not fill the disk. */
const lookAfter = 5000
/** Maximum nodes with a count of the points that were added since the last check. */
const remembered = 100_000
/** Milliseconds between two searches for expired tracks. */
const sweepIntervalMs = 60_000

/** @param kept maximum points of a node */
export function createTracks(
  database: SqlStore,
  clock: SteadyClock,
  log: Log,
  kept: number = trackLimits.kept,
): Tracks {
  const added = new RecentMap<string, number>(remembered)

  async function sweep(): Promise<void> {
    const now = clock.past()
    await database.transaction([
      sql`DELETE FROM tracks WHERE node_id IN (SELECT node_id FROM nodes WHERE track_until > 0 AND track_until <= ${now})`,
      sql`UPDATE nodes SET track_until = 0 WHERE track_until > 0 AND track_until <= ${now}`,
    ])
  }
  const timer = setInterval(
    () => void sweep().catch((cause) => log.error('expired tracks could not be deleted', { cause })),
    sweepIntervalMs,
  )
  timer.unref()

  return {
    async add({ nodeId, term }, points) {
      const insert = ({ fixedAt, longitude, latitude }: TrackPoint): Statement =>
        sql`INSERT INTO tracks SELECT node_id, CAST(${fixedAt} AS BIGINT), CAST(${longitude} AS DOUBLE PRECISION),
          CAST(${latitude} AS DOUBLE PRECISION) FROM nodes WHERE node_id = ${nodeId} AND term = ${term} ON CONFLICT DO NOTHING`
      if (points.length === 0) return
      const count = (added.get(nodeId) ?? 0) + points.length
      const isDue = count >= Math.min(lookAfter, kept)
      added.set(nodeId, isDue ? 0 : count)
      await database.transaction([...points.map(insert), ...(isDue ? [deleteOldest(nodeId, kept)] : [])])
    },
    async of(nodeId, limit, before = Number.MAX_SAFE_INTEGER) {
      const rows = await database.run(
        sql`SELECT * FROM tracks WHERE node_id = ${nodeId} AND fixed_at < ${before} ORDER BY fixed_at DESC LIMIT ${limit}`,
      )
      return rows.reverse().map((row) => ({
        longitude: row.longitude as number,
        latitude: row.latitude as number,
        fixedAt: row.fixed_at as number,
      }))
    },
    sweep,
    close: () => clearInterval(timer),
  }
}

const deleteOldest = (nodeId: string, kept: number): Statement =>
  sql`DELETE FROM tracks WHERE node_id = ${nodeId} AND fixed_at < (SELECT MIN(fixed_at) FROM
    (SELECT fixed_at FROM tracks WHERE node_id = ${nodeId} ORDER BY fixed_at DESC LIMIT ${kept}) AS newest)`
