/**
 * What happened to a device, as the differences between what it stated before and what it states now: restarts, services that changed their
 * state and why, notices, versions, and times without contact. The last 100 events of a device are stored. Only the account that has the
 * device sees them.
 */
import { randomBytes } from 'node:crypto'
import { type DeviceEvent, describeState } from '@selvedge/protocol/console'
import type { DeviceVitals } from '@selvedge/protocol/tokens'
import { isoTime } from '@selvedge/service-kit/clock'
import { createLimiter } from '@selvedge/service-kit/http'
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Node } from './nodes.ts'

/** Events of one device that are stored. */
export const maxDeviceEvents = 100
/** Events of one statement that are stored: a device may state many services at once. */
const maxAtOnce = 20
/** Services that change their state all the time fill no log: some events of a device at once, then sixty an hour. */
const rate = { burst: 60, perSecond: 60 / 3600 }
/** Seconds by which the uptime of a device may differ from the time that passed: it is stated in whole seconds, and late. */
const uptimeSlackSeconds = 60

export type NewDeviceEvent = Omit<DeviceEvent, 'id' | 'at'>

/** What a device stated, and when this service heard it, in Unix milliseconds. */
export interface Stated {
  readonly node: Pick<Node, 'services' | 'version' | 'lastSeenAt'>
  /** Undefined: not stated. */
  readonly vitals: DeviceVitals | undefined
}

const event = (kind: DeviceEvent['kind'], more: Partial<NewDeviceEvent> = {}): NewDeviceEvent => ({
  ...{ kind, subject: '', before: '', after: '', reason: '' },
  ...more,
})

/** @param awayMs milliseconds without contact after which a device is away */
export function eventsBetween(before: Stated, after: Stated, awayMs: number): NewDeviceEvent[] {
  const gone = after.node.lastSeenAt - before.node.lastSeenAt
  const [old, now] = [before.node.version, after.node.version]
  return [
    ...(gone > awayMs ? [event('returned', { before: isoTime(before.node.lastSeenAt) })] : []),
    ...(hasStarted(before, after) ? [event('started')] : []),
    ...(old !== '' && old !== now ? [event('version', { before: old, after: now })] : []),
    ...servicesBetween(before, after),
    ...noticesBetween(before.vitals, after.vitals),
  ]
}

/** Whether the device was started again: it is up for less than the time since it last stated for how long. */
function hasStarted({ node, vitals: old }: Stated, { node: next, vitals: now }: Stated): boolean {
  if (!old || !now) return false
  const passed = Math.max(0, next.lastSeenAt - node.lastSeenAt) / 1000
  return now.uptimeSeconds + uptimeSlackSeconds < old.uptimeSeconds + passed
}

/** A service that pauses, or starts with a request, answers requests before and after: nothing happened to it. */
const isServing = (state: string): boolean => describeState(state).isServing

function servicesBetween(
  { node, vitals: old }: Stated,
  { node: next, vitals: now }: Stated,
): NewDeviceEvent[] {
  const known = new Map(node.services.map((each) => [each.id, each]))
  const ids = new Set(next.services.map(({ id }) => id))
  const countOf = (vitals: DeviceVitals | undefined, id: string) =>
    vitals?.services.find((each) => each.id === id)?.restarts ?? 0
  return [
    ...next.services.flatMap(({ id, name, state }) => {
      const reason = now?.services.find((each) => each.id === id)?.lastEnd ?? ''
      const was = known.get(id)?.state ?? ''
      const [restarts, earlier] = [countOf(now, id), countOf(old, id)]
      return [
        ...(old && now && restarts > earlier
          ? [event('restart', { subject: name, before: String(earlier), after: String(restarts), reason })]
          : []),
        ...(was === state || (isServing(was) && isServing(state))
          ? []
          : [
              event('service', {
                subject: name,
                before: was,
                after: state,
                reason: state === 'failed' ? reason : '',
              }),
            ]),
      ]
    }),
    ...node.services
      .filter(({ id }) => !ids.has(id))
      .map(({ name, state }) => event('service', { subject: name, before: state })),
  ]
}

function noticesBetween(old: DeviceVitals | undefined, now: DeviceVitals | undefined): NewDeviceEvent[] {
  const known = new Set(old?.notices.map(({ reason, errorId }) => `${reason} ${errorId}`))
  return (now?.notices ?? [])
    .filter(({ reason, errorId }) => !known.has(`${reason} ${errorId}`))
    .map(({ reason, errorId }) => event('notice', { subject: reason, after: errorId }))
}

export interface DeviceHistory {
  /**
   * Statements that store the events between what a device of an account stated before and what it states now. They run after the
   * device was written: a device of no account has no history.
   *
   * @param now Unix milliseconds
   */
  record(nodeId: string, before: Stated, after: Stated, now: number): Statement[]
  /** The last events, newest first. */
  list(accountId: string, nodeId: string): Promise<DeviceEvent[]>
}

/** @param awayMs milliseconds without contact after which a device is away */
export function createDeviceHistory(store: SqlStore, awayMs: number): DeviceHistory {
  const limiter = createLimiter(rate)
  return {
    record(nodeId, before, after, now) {
      const events = eventsBetween(before, after, awayMs)
        .slice(0, maxAtOnce)
        .filter(() => limiter.take(nodeId) === 0)
      if (events.length === 0) return []
      return [
        ...events.map((each, at) =>
          insert(nodeId, each, `${timePrefix(now)}${String(at).padStart(2, '0')}`, now),
        ),
        sql`DELETE FROM device_events WHERE node_id = ${nodeId} AND event_id IN
          (SELECT event_id FROM device_events WHERE node_id = ${nodeId}
            ORDER BY event_id DESC LIMIT ${maxDeviceEvents} OFFSET ${maxDeviceEvents})`,
      ]
    },
    async list(accountId, nodeId) {
      const rows = await store.run(
        sql`SELECT * FROM device_events WHERE node_id = ${nodeId} AND account_id = ${accountId}
          ORDER BY event_id DESC LIMIT ${maxDeviceEvents}`,
      )
      return rows.map((row) => ({
        id: row.event_id as string,
        at: isoTime(row.at as number),
        kind: row.kind as DeviceEvent['kind'],
        subject: row.subject as string,
        before: row.before_state as string,
        after: row.after_state as string,
        reason: row.reason as string,
      }))
    },
  }
}

/** The time comes first, so that the order of the IDs is that of the events. */
const timePrefix = (time: number): string => time.toString(36).padStart(9, '0')

const insert = (
  nodeId: string,
  { kind, subject, before, after, reason }: NewDeviceEvent,
  prefix: string,
  now: number,
): Statement =>
  sql`INSERT INTO device_events SELECT node_id, CAST(${prefix + randomBytes(6).toString('hex')} AS TEXT), account_id,
      CAST(${now} AS BIGINT), CAST(${kind} AS TEXT), CAST(${subject} AS TEXT), CAST(${before} AS TEXT),
      CAST(${after} AS TEXT), CAST(${reason} AS TEXT)
    FROM nodes WHERE node_id = ${nodeId} AND account_id <> ''`
