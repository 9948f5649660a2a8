/**
 * The time of a device, which may have no battery for its clock and no network to ask. It never goes back behind the latest
 * time that was ever believed, and follows the identity service where that is known.
 */
import type { Clock } from '@selvedge/service-kit/clock'

/** trusted: the identity service confirmed it. held: plausible. unknown: the clock shows a time that is over already. */
type TimeState = 'trusted' | 'held' | 'unknown'

export interface DeviceClock extends Clock {
  state(): TimeState
  /** Takes the time of the identity service; `sentAt` is when it was asked, on the `monotonic` scale. */
  learn(serverTime: number, sentAt: number): void
  /** Milliseconds that only ever grow. */
  monotonic(): number
}

/** Milliseconds by which the system's clock may differ from the service's before it is corrected. */
const tolerance = 2000
/** Milliseconds by which the system's clock may jump before what was learned is forgotten. */
const jump = 60_000

export interface TimeSources {
  readonly system: () => number
  readonly monotonic: () => number
}

/** @param floor latest time ever believed, Unix milliseconds */
export function createDeviceClock(
  floor: number,
  { system, monotonic }: TimeSources = { system: Date.now, monotonic: () => performance.now() },
): DeviceClock {
  let offset = 0
  let learned: { system: number; monotonic: number } | undefined
  let base = { time: floor, monotonic: monotonic() }

  /** A system clock that was set by hand or by NTP makes what was learned worthless. */
  function forgetAfterJump(): void {
    if (!learned) return
    const drift = system() - learned.system - (monotonic() - learned.monotonic)
    if (Math.abs(drift) <= jump) return
    learned = undefined
    offset = 0
  }

  /** Within a millisecond of the system's clock nothing changes; every call of the API asks for the time. */
  let read: { readonly at: number; readonly now: number; readonly state: TimeState } | undefined

  function readClock(): { readonly now: number; readonly state: TimeState } {
    const at = system()
    if (read?.at === at) return read
    forgetAfterJump()
    const shown = at + offset
    const behind = base.time - at
    let now = shown
    if (shown >= base.time) base = { time: shown, monotonic: monotonic() }
    else now = Math.floor(Math.max(shown, base.time + (monotonic() - base.monotonic)))
    read = { at, now, state: learned ? 'trusted' : behind > tolerance ? 'unknown' : 'held' }
    return read
  }

  return {
    now: () => readClock().now,
    state: () => readClock().state,
    learn(serverTime, sentAt) {
      const there = serverTime + (monotonic() - sentAt) / 2
      const difference = there - system()
      offset = Math.abs(difference) > tolerance ? Math.round(difference) : 0
      learned = { system: system(), monotonic: monotonic() }
      // The service is the authority: a floor that a wrong clock had set must not outlive it.
      base = { time: system() + offset, monotonic: monotonic() }
      read = undefined
    },
    monotonic,
  }
}
