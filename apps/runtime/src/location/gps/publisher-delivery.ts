/**
 * What the discovery service knows of this node, and when a report is due. Pure: the state after an event depends only on the
 * state before it and the event. Times are milliseconds of a monotonic clock, except those of fixes.
 */

/** After a report that was slower than this failed, callers do not wait for a moment. */
const slowFailureMs = 500
const coolingMs = 1000
/** Interval of the checks whether a keep-alive is due, and the minimum interval of keep-alives. */
export const keepAliveCheckMs = 5000
/** A fix that the service refused is sent again after this time: one of the two clocks may have been wrong. */
const refusalMs = 60_000

export interface Delivery {
  /** Time of the latest fix that the service accepted. */
  readonly acceptedUpTo: number
  /** Number of the newest statement. */
  readonly stated: number
  /** Number of the newest statement that the service knows. */
  readonly known: number
  /** When the service answered last. */
  readonly answeredAt: number
  /** When a slow report failed, unless one succeeded since. */
  readonly slowFailureAt: number
  /** The newest fix that the service refused. */
  readonly refused: { readonly fixedAt: number; readonly at: number }
}

const never = Number.NEGATIVE_INFINITY
export const nothingDelivered: Delivery = {
  acceptedUpTo: never,
  stated: 0,
  known: 0,
  answeredAt: never,
  slowFailureAt: never,
  refused: { fixedAt: never, at: never },
}

/** @param fixedAt time of the fix that was new to the service; undefined if no fix was new */
export const afterSuccess = (
  before: Delivery,
  { fixedAt, statement }: { readonly fixedAt: number | undefined; readonly statement: number },
  now: number,
): Delivery => ({
  ...before,
  acceptedUpTo: fixedAt ?? before.acceptedUpTo,
  known: Math.max(before.known, statement),
  answeredAt: now,
  slowFailureAt: never,
})

export const afterFailure = (before: Delivery, startedAt: number, now: number): Delivery =>
  now - startedAt > slowFailureMs ? { ...before, slowFailureAt: now } : before

export const afterRefusal = (before: Delivery, fixedAt: number, now: number): Delivery => ({
  ...before,
  refused: { fixedAt, at: now },
})

/** Whether the service refused this fix a short time ago. Later fixes are sent. */
export const isRefused = ({ refused }: Delivery, fixedAt: number, now: number): boolean =>
  fixedAt === refused.fixedAt && now - refused.at < refusalMs

/** Whether a caller may wait for a report: not right after one that was slow and failed. */
export const mayWait = ({ slowFailureAt }: Delivery, now: number): boolean => now - slowFailureAt >= coolingMs

/**
 * Whether a keep-alive is due.
 *
 * @param reportWithinMs interval that the service requests. With 0, keep-alives would follow each other without a pause: there
 *   is a minimum
 */
export const isOverdue = ({ answeredAt }: Delivery, reportWithinMs: number, now: number): boolean =>
  now - answeredAt >= Math.max(keepAliveCheckMs, reportWithinMs)

export const isServed = (
  { acceptedUpTo, known }: Delivery,
  waited: { readonly fixedAt: number; readonly statement: number },
): boolean => waited.fixedAt <= acceptedUpTo && waited.statement <= known
