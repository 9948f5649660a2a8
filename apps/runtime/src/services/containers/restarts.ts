/** Applies the crash policy to one container, writes its log, and reports what the policy decided. */
import type { EndReason } from '@selvedge/protocol'
import type { Ending, Plan } from '../engines/engine.ts'
import {
  afterDeviceFailure,
  afterEnd,
  afterRequest,
  afterStart,
  goodRunMs,
  noCrashes,
  secondsToWait,
} from './crash-policy.ts'
import { idleSecondsOf } from './idle-policy.ts'

/** What happened, for the history: by which rule, and whether the container has failed permanently. */
export interface Happening {
  readonly event: string
  readonly rule: string
  readonly detail: string
  readonly failed?: true
  readonly restart?: true
}

export interface Restarts {
  /** An instance exited by itself. @returns seconds until the next start; undefined if the container is given up */
  ended(plan: Plan, ending: Ending, ranForMs: number): number | undefined
  /** A start failed for a reason of the device. @returns seconds until the next start */
  postponed(plan: Plan, cause: Error): number
  started(): void
  requested(): void
  /** Seconds until a start is allowed; 0 if it is allowed now. */
  secondsToWait(): number
  /** Why the container last exited or did not start, since it was requested; undefined if it did neither. */
  lastEnd(): EndReason | undefined
}

/** @param now monotonic milliseconds */
export function createRestarts(now: () => number, report: (happening: Happening) => void): Restarts {
  let state = noCrashes
  let last: EndReason | undefined
  return {
    ended(plan, { why, reason }, ranForMs) {
      last = reason
      plan.log('runtime', `ended: ${why}`)
      const decision = afterEnd(state, ranForMs, now())
      state = decision.state
      const seconds = decision.pauseSeconds
      if (seconds === undefined) {
        const rule = `it ended ${state.ends} times, each within ${goodRunMs / 1000} s of its start`
        report({ event: 'failed', rule, detail: why, failed: true })
        return undefined
      }
      const rule =
        idleSecondsOf(plan) > 0
          ? `it ended by itself; the next request starts it, in ${seconds} s at the earliest`
          : `it ended by itself; it is started again in ${seconds} s`
      report({ event: 'restarted', rule, detail: why, restart: true })
      return seconds
    },
    postponed(plan, { message }) {
      last = 'not_started'
      const { state: next, pauseSeconds } = afterDeviceFailure(state, now())
      state = next
      plan.log('runtime', `it could not be started: ${message}; it is tried again in ${pauseSeconds} s`)
      if (state.deviceFailures === 1) {
        const rule = 'it could not be started for a reason of the device; it is tried again'
        report({ event: 'postponed', rule, detail: message })
      }
      return pauseSeconds
    },
    started() {
      state = afterStart(state)
    },
    requested() {
      state = afterRequest(state)
      last = undefined
    },
    secondsToWait: () => secondsToWait(state, now()),
    lastEnd: () => last,
  }
}
