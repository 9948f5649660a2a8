/** What a fix foretells (dead reckoning), and what no device can do. */
import { destination, distanceBetween } from './sphere.ts'

/** Degrees, metres per second, Unix milliseconds. */
export interface Motion {
  readonly longitude: number
  readonly latitude: number
  readonly speed: number
  readonly bearing: number
  readonly fixedAt: number
}

/** Where a device is at a time, if it went on as it did. */
export const predict = (fix: Motion, at: number): { longitude: number; latitude: number } =>
  fix.speed === 0 ? fix : destination(fix, fix.bearing, (fix.speed * Math.max(0, at - fix.fixedAt)) / 1000)

/** Where something was, and when. */
export type Moment = Pick<Motion, 'longitude' | 'latitude' | 'fixedAt'>

export interface SendingLimits {
  /** Metres by which the prediction may be off. */
  readonly maxError: number
  /** Maximum milliseconds between two fixes, even if the prediction is accurate. */
  readonly maxIntervalMs: number
}

/** Whether dead reckoning from `sent` is off by more than the limit, so that a new fix is worth sending. */
export function isWorthSending(
  sent: Motion | undefined,
  now: Motion,
  { maxError, maxIntervalMs }: SendingLimits,
): boolean {
  if (!sent || now.fixedAt - sent.fixedAt >= maxIntervalMs) return true
  const expected = predict(sent, now.fixedAt)
  return distanceBetween(expected.longitude, expected.latitude, now.longitude, now.latitude) > maxError
}

/** An implausible speed in metres per second: above the speed of sound, and of airliners. */
export const fastest = 350
/** Metres by which two fixes of a device at rest may differ. */
export const restless = 200

/** Whether a device can't have come from one fix to the next: the receiver, the clock or the sender is wrong. */
export function isJump(before: Moment, now: Moment): boolean {
  const seconds = Math.max(0, now.fixedAt - before.fixedAt) / 1000
  const metres = distanceBetween(before.longitude, before.latitude, now.longitude, now.latitude)
  return metres > restless + fastest * seconds
}
