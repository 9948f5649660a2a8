/**
 * Refuses ordinary requests while a daemon has more of them than it can answer. The measure is the wait of a request before it
 * was read, which shows in a timer that is late by as much. As in CoDel (RFC 8289), a short burst is served and only a standing
 * queue is cut: then the requests of each turn of the event loop are accepted in the first part of the turn, and the rest is
 * refused at once. So requests that are served wait a few milliseconds at most.
 *
 * A refusal costs as much CPU as a cheap answer. So beyond some refusals a millisecond, a connection with a refused request is
 * not read for the second that its client was asked to wait; what it has sent meanwhile is refused. Then clients that do not
 * wait cost a refusal a second each, and the CPU is left to the others.
 */
import type { Socket } from 'node:net'
import { RpcError } from '@selvedge/protocol'
import { safely } from '../safely/safely.ts'
import { carrierOf } from './protocols.ts'

/** Seconds that a refused caller is asked to wait: the value of `Retry-After`. */
export const retryAfterSeconds = 1

/** What a refused caller reads. */
export const busyMessage = `the service has more requests than it can answer; send it again in ${retryAfterSeconds} s or later`

/** What is not read while it rests. */
type Line = ReturnType<typeof carrierOf>

export interface LoadShedder {
  /**
   * Whether an ordinary request that was just read has to be refused. To be asked once for each ordinary request.
   *
   * @param socket that it came from
   */
  isBusy(socket: Socket): boolean
  /** To be called when the refusal was sent: may leave the connection unread for a second. */
  wasRefused(socket: Socket): void
}

export interface LoadShedderSettings {
  /** Milliseconds between two measurements; a queue delays them. */
  readonly tickMs: number
  /** Milliseconds for which a request may wait while there is a standing queue. */
  readonly targetMs: number
  /** Milliseconds after which a queue is standing. */
  readonly burstMs: number
  /** Milliseconds for which a request may wait in a burst. */
  readonly maxWaitMs: number
  /** Milliseconds without a queue after which bursts are served again. */
  readonly calmMs: number
  /** Requests of each turn that are served however late it is: few callers on a slow machine are no overload. */
  readonly alwaysServed: number
  /** Refusals for each millisecond after which a refused connection is not read for a second. */
  readonly freeRefusals: number
}

const defaults: LoadShedderSettings = {
  tickMs: 1,
  targetMs: 4,
  burstMs: 500,
  maxWaitMs: 1000,
  calmMs: 1000,
  alwaysServed: 32,
  freeRefusals: 0.1,
}

/** One for all listeners of a daemon: they share its event loop. It runs a timer only while ordinary requests come. */
export function createLoadShedder(
  settings: Partial<LoadShedderSettings> = {},
  now: () => number = () => performance.now(),
): LoadShedder {
  const { tickMs, targetMs, burstMs, maxWaitMs, calmMs, alwaysServed, freeRefusals } = {
    ...defaults,
    ...settings,
  }
  let timer: NodeJS.Timeout | undefined
  let isTicking = false
  /** When the next tick is due; what it is late by, requests have waited. */
  let due = 0
  /** Ordinary requests since the last tick. */
  let count = 0
  /** Since when each tick was late; Infinity: the last one was not. */
  let lateSince = Number.POSITIVE_INFINITY
  /** Until when the queue counts as standing. */
  let standingUntil = Number.NEGATIVE_INFINITY
  /** Refusals that are still without consequence, for the time since the last tick. */
  let freeLeft = freeRefusals
  /** Connections that are not read, the first one first, and those that are read again since the last tick. */
  const resting = new Map<Line, number>()
  let resumed = new Set<Line>()
  let resumedBefore = new Set<Line>()

  /** What a connection brings right after its rest has waited meanwhile: within one tick, or two where a tick is in between. */
  function resumeRested(at: number): void {
    const old = resumedBefore
    old.clear()
    resumedBefore = resumed
    resumed = old
    for (const [socket, since] of resting) {
      if (at - since < retryAfterSeconds * 1000) return
      resting.delete(socket)
      if (socket.destroyed) continue
      resumed.add(socket)
      socket.resume()
    }
  }

  const hasRested = (line: Line) => resumed.delete(line) || resumedBefore.delete(line)

  const tick = safely('http.load', () => {
    const at = now()
    if (at - due > targetMs) lateSince = Math.min(lateSince, due)
    else lateSince = Number.POSITIVE_INFINITY
    if (at - lateSince > burstMs) standingUntil = at + calmMs
    resumeRested(at)
    freeLeft = Math.ceil((1 + Math.max(0, at - due) / tickMs) * freeRefusals)
    isTicking = count > 0 || resting.size > 0 || resumed.size > 0 || resumedBefore.size > 0
    if (isTicking) schedule(at)
    else lateSince = Number.POSITIVE_INFINITY
  })

  function schedule(at: number): void {
    count = 0
    due = at + tickMs
    if (timer) timer.refresh()
    else timer = setTimeout(tick, tickMs).unref()
  }

  return {
    isBusy(socket) {
      if (!isTicking) {
        isTicking = true
        schedule(now())
      }
      if ((resumed.size > 0 || resumedBefore.size > 0) && hasRested(carrierOf(socket))) return true
      if (++count <= alwaysServed) return false
      const at = now()
      return at - due > (at < standingUntil ? targetMs : maxWaitMs)
    },
    wasRefused(socket) {
      if (freeLeft-- > 0) return
      const line = carrierOf(socket)
      line.pause()
      resting.set(line, now())
    },
  }
}

/** The refusal of a JSON-RPC call. One object: a refusal must cost next to nothing, and a stack trace is most of it. */
export const busyError = new RpcError('busy', busyMessage)
