/**
 * When a container that exited by itself starts again, and when it is given up. Pure: the state after an event depends only on the
 * state before it and the event. Times are milliseconds of a monotonic clock.
 */

/** Seconds before a start after repeated failures: the first pause, doubled each time, up to the longest. */
const firstPauseSeconds = 1
const longestPauseSeconds = 60
/** Restarts in a row; the next end within `goodRunMs` of its start means that the container has failed. */
const maxRestarts = 5
/** A longer run counts as successful, and the counting starts again. */
export const goodRunMs = 60_000

export interface CrashState {
  /** Ends in a row, each within `goodRunMs` of its start. */
  readonly ends: number
  /** Starts in a row that failed for a reason of the device. */
  readonly deviceFailures: number
  /** No start before this time. */
  readonly notBefore: number
}

export const noCrashes: CrashState = { ends: 0, deviceFailures: 0, notBefore: 0 }

export interface CrashDecision<Pause extends number | undefined = number> {
  readonly state: CrashState
  /** Seconds until the next start; undefined if the container is given up. */
  readonly pauseSeconds: Pause
}

/** An instance exited by itself, or a start failed for a reason of the container. The first restart is immediate. */
export function afterEnd(
  before: CrashState,
  ranForMs: number,
  now: number,
): CrashDecision<number | undefined> {
  const ends = (ranForMs > goodRunMs ? 0 : before.ends) + 1
  const state = { ...before, ends }
  if (ends > maxRestarts) return { state, pauseSeconds: undefined }
  return pause(state, ends - 1, now)
}

/** A start failed for a reason of the device, which passes: the container is never given up for it. */
export function afterDeviceFailure(before: CrashState, now: number): CrashDecision {
  const deviceFailures = before.deviceFailures + 1
  return pause({ ...before, deviceFailures }, deviceFailures, now)
}

/** An instance started: the device can start instances again. Only a long run resets `ends`. */
export const afterStart = (before: CrashState): CrashState => ({ ...before, deviceFailures: 0 })

/** The owner, or a start of the runtime, requests the container: earlier crashes do not count. */
export const afterRequest = (before: CrashState): CrashState => ({ ...before, ends: 0, notBefore: 0 })

/** Seconds until a start is allowed, rounded up; 0 if it is allowed now. */
export const secondsToWait = ({ notBefore }: CrashState, now: number): number =>
  Math.max(0, Math.ceil((notBefore - now) / 1000))

/** @param failures in a row before this pause; 0: no pause */
function pause(state: CrashState, failures: number, now: number): CrashDecision {
  const pauseSeconds = pauseSecondsAfter(failures)
  return { state: { ...state, notBefore: now + pauseSeconds * 1000 }, pauseSeconds }
}

/** Seconds before a start. @param failures in a row before it; 0: no pause */
export const pauseSecondsAfter = (failures: number): number =>
  failures === 0 ? 0 : Math.min(firstPauseSeconds * 2 ** (failures - 1), longestPauseSeconds)
