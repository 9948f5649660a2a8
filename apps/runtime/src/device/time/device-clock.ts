/**
 * The time of a device, which may have no battery for its clock and no network to ask. While the identity service has confirmed
 * the time, setting the system's clock changes nothing. Before that, the system's clock counts if it is plausible: not behind
 * the latest accepted time. A jump ahead is accepted only if it lasts an hour.
 */
import { uptime as systemUptime } from 'node:os'
import { type Clock, clockJump, createBelievedTime } from '@selvedge/service-kit/clock'

/** trusted: the identity service confirmed it. held: plausible. unknown: the clock shows a time that has already passed. */
type TimeState = 'trusted' | 'held' | 'unknown'

export interface DeviceClock extends Clock {
  state(): TimeState
  /**
   * Accepts a time that the identity service signed for a fresh nonce. Nothing else can lower the latest accepted time.
   *
   * @param serverTime Unix milliseconds
   * @param at when the service was asked and when its answer came, on the `monotonic` scale
   */
  learn(serverTime: number, at: { readonly sentAt: number; readonly answeredAt: number }): void
  /** Monotonic milliseconds, which stand still while the device sleeps. */
  monotonic(): number
  /** Monotonic milliseconds, which also count while the device sleeps. For expiries that no clock change may move. */
  elapsed(): number
}

/** Milliseconds by which the system's clock may differ from the service's before it is corrected. */
const toleranceMs = 2000
/** Milliseconds for which a clock that was set must go on before it is believed. */
const settleMs = 3_600_000

export interface TimeSources {
  readonly system: () => number
  readonly monotonic: () => number
  /** Milliseconds since the device was started, sleep included. */
  readonly uptime: () => number
}

const ownSources: TimeSources = {
  system: Date.now,
  monotonic: () => performance.now(),
  uptime: () => systemUptime() * 1000,
}

/** @param floor latest time that was believed, Unix milliseconds */
export function createDeviceClock(
  floor: number,
  { system, monotonic, uptime }: TimeSources = ownSources,
): DeviceClock {
  let slept = 0
  const elapsed = () => monotonic() + slept
  const marks = () => ({ system: system(), monotonic: monotonic(), uptime: uptime() })
  let mark = marks()
  const least = createBelievedTime(floor, elapsed, settleMs)
  let isLearned = false

  /** The monotonic clock stops while the device sleeps: the time that the system counted meanwhile is added. */
  function noteSleep(): void {
    const passed = monotonic() - mark.monotonic
    if (Math.abs(system() - mark.system - passed) <= clockJump) return
    slept += Math.max(0, uptime() - mark.uptime - passed)
    mark = marks()
  }

  /** Within a millisecond of the system's clock nothing changes: every call of the API reads the time. */
  let read: { readonly at: number; readonly now: number; readonly state: TimeState } | undefined

  function readClock(): { readonly now: number; readonly state: TimeState } {
    const at = system()
    if (read?.at === at) return read
    noteSleep()
    if (isLearned) {
      read = { at, now: least.now(), state: 'trusted' }
      return read
    }
    least.note(at)
    const behind = least.now() - at
    read = { at, now: Math.max(at, least.now()), state: behind > toleranceMs ? 'unknown' : 'held' }
    return read
  }

  return {
    now: () => readClock().now,
    state: () => readClock().state,
    learn(serverTime, { sentAt, answeredAt }) {
      const there = serverTime + (answeredAt - sentAt) / 2 + (monotonic() - answeredAt)
      noteSleep()
      least.replace(Math.abs(there - system()) > toleranceMs ? Math.round(there) : system())
      isLearned = true
      read = undefined
    },
    monotonic,
    elapsed() {
      noteSleep()
      return elapsed()
    },
  }
}
