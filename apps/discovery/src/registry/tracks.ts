/** Where nodes went, for as long as their owners asked for it. */
import type { Clock } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'

interface TrackPoint {
  readonly longitude: number
  readonly latitude: number
  readonly fixedAt: number
}

export interface Tracks {
  add(nodeId: string, points: readonly TrackPoint[]): Promise<void>
  /** The last points, oldest first. */
  of(nodeId: string): Promise<TrackPoint[]>
  /** Deletes the tracks that have ended; it is done every minute. */
  sweep(): Promise<void>
  close(): void
}

/** Most points of an answer. */
const most = 10_000
/** Milliseconds between two looks for tracks that have ended. */
const sweepInterval = 60_000

export function createTracks(database: SqlStore, clock: Clock, log: Log): Tracks {
  async function sweep(): Promise<void> {
    const now = clock.now()
    await database.transaction([
      sql`DELETE FROM tracks WHERE node_id IN (SELECT node_id FROM nodes WHERE track_until > 0 AND track_until <= ${now})`,
      sql`UPDATE nodes SET track_until = 0 WHERE track_until > 0 AND track_until <= ${now}`,
    ])
  }
  const timer = setInterval(
    () => void sweep().catch((cause) => log.error('ended tracks can not be deleted', { cause })),
    sweepInterval,
  )
  timer.unref()

  return {
    async add(nodeId, points) {
      const insert = ({ fixedAt, longitude, latitude }: TrackPoint): Statement =>
        sql`INSERT INTO tracks VALUES (${nodeId}, ${fixedAt}, ${longitude}, ${latitude}) ON CONFLICT DO NOTHING`
      if (points.length > 0) await database.transaction(points.map(insert))
    },
    async of(nodeId) {
      const rows = await database.run(
        sql`SELECT * FROM tracks WHERE node_id = ${nodeId} ORDER BY fixed_at DESC LIMIT ${most}`,
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
