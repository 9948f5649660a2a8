/** Which devices of an account need a person, and for what: as they stated it last. Only the account that has the device sees it. */
import type { Device, DeviceNeed } from '@selvedge/protocol/console'
import type { DeviceVitals } from '@selvedge/protocol/tokens'
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'

/** Share of a file system in use from which it counts as full. */
const fullShare = 0.9

const noticesOf: Readonly<Partial<Record<DeviceNeed, readonly string[]>>> = {
  clock: ['revocations_wrong_time'],
  certificate: ['certificate_expires', 'certificate_unusable'],
  disk: ['revocations_not_stored', 'keys_not_stored'],
}

/** @returns whether a service failed, and is not started again */
export const isFailing = (services: Pick<Device, 'services'>['services']): boolean =>
  services.some(({ state }) => state === 'failed')

/** What the vitals of a device need a person for. */
export function needsOfVitals({ disk, clock, notices }: DeviceVitals): DeviceNeed[] {
  const hasNotice = (need: DeviceNeed) => notices.some(({ reason }) => noticesOf[need]?.includes(reason))
  const isFull = disk !== null && disk.totalBytes > 0 && disk.usedBytes / disk.totalBytes >= fullShare
  const found = {
    disk: isFull || hasNotice('disk'),
    clock: clock === 'unknown' || hasNotice('clock'),
    certificate: hasNotice('certificate'),
  }
  return (['disk', 'clock', 'certificate'] as const).filter((need) => found[need])
}

interface Stated {
  readonly nodeId: string
  readonly services: Parameters<typeof isFailing>[0]
  /** Null: the device withdraws them; undefined: those from before stay. */
  readonly vitals: DeviceVitals | null | undefined
}

/** Replaces what a device needs. Runs after the device was written: a device of no account needs nothing. */
export function writeNeeds({ nodeId, services, vitals }: Stated): Statement[] {
  const needs: DeviceNeed[] = [
    ...(isFailing(services) ? (['failing'] as const) : []),
    ...(vitals ? needsOfVitals(vitals) : []),
  ]
  const replaced =
    vitals === undefined
      ? sql`DELETE FROM device_needs WHERE node_id = ${nodeId} AND need = 'failing'`
      : sql`DELETE FROM device_needs WHERE node_id = ${nodeId}`
  const added = needs.map(
    (need) =>
      sql`INSERT INTO device_needs SELECT account_id, CAST(${need} AS TEXT), node_id FROM nodes
        WHERE node_id = ${nodeId} AND account_id <> '' ON CONFLICT DO NOTHING`,
  )
  return [replaced, ...added]
}

interface Attention {
  readonly total: number
  readonly away: number
  /** When a device of the account was last seen, in Unix milliseconds; null without devices. */
  readonly lastSeenAt: number | null
  readonly needs: Readonly<Record<DeviceNeed, number>>
}

/** @param onlineSince Unix milliseconds: devices that were seen then or later are online */
export type ReadAttention = (accountId: string, onlineSince: number) => Promise<Attention>

export const createReadAttention =
  (store: SqlStore): ReadAttention =>
  async (accountId, onlineSince) => {
    const [[seen], needs] = await Promise.all([
      store.run(sql`SELECT COUNT(*) AS total, MAX(last_seen_at) AS last_seen_at,
          COUNT(CASE WHEN blocked_at IS NULL AND last_seen_at < ${onlineSince} THEN 1 END) AS away
        FROM nodes WHERE account_id = ${accountId}`),
      // A device that left the account is in the table until it states something again.
      store.run(sql`SELECT need, COUNT(*) AS count FROM device_needs
        JOIN nodes ON nodes.node_id = device_needs.node_id AND nodes.account_id = device_needs.account_id
        WHERE device_needs.account_id = ${accountId} GROUP BY need`),
    ])
    const countOf = (need: DeviceNeed) => Number(needs.find((each) => each.need === need)?.count ?? 0)
    return {
      total: Number(seen?.total ?? 0),
      away: Number(seen?.away ?? 0),
      lastSeenAt: typeof seen?.last_seen_at === 'number' ? seen.last_seen_at : null,
      needs: {
        failing: countOf('failing'),
        disk: countOf('disk'),
        clock: countOf('clock'),
        certificate: countOf('certificate'),
      },
    }
  }
