/**
 * The rule that distinguishes a copy of a device from a device that was started again. Each start of a runtime has a random ID, in its memory
 * alone, and counts its requests. A start that continues after a later one was heard is therefore a second process with the same key.
 * After a power cut, or with a restored backup, there is another start, and the one from before is silent. A restored snapshot of a virtual
 * machine, with its memory, is a start that is heard again with a count from before.
 */

/** What a request states of the start that it is from. */
interface Contact {
  readonly id: string
  /** Number of the request in this start. */
  readonly count: number
}

/** A start that was heard. Times are Unix milliseconds of this service: the clock of the device decides nothing. */
interface Heard extends Contact {
  /** When it was first heard since another one was. */
  readonly since: number
  /** Last request. */
  readonly at: number
}

/** What is known of the starts of one node. */
export interface Turns {
  /** At most {@link turnLimits}.starts; the one that was heard last is the first. */
  readonly starts: readonly Heard[]
  /** When a start continued after a later one; at most {@link turnLimits}.returns, the newest is the last. */
  readonly returns: readonly number[]
  /** When a start was heard with a count from before; at most {@link turnLimits}.falls, the newest is the last. */
  readonly falls: readonly number[]
}

export const turnLimits = {
  /** Starts of one node that are stored. */
  starts: 8,
  /** So many returns within `returnsMs` are a copy. Fewer may be snapshots after which nothing was heard: see `bench/copies.ts`. */
  returns: 4,
  returnsMs: 24 * 3_600_000,
  /** So many falls within `fallsMs` are a copy with its memory. Fewer are restored snapshots. */
  falls: 4,
  fallsMs: 2 * 3_600_000,
  /** A request that is younger than this may have been on the way: a proof lasts two minutes, and clocks of replicas differ. */
  graceMs: 300_000,
  /** Requests of the start that was heard last are written once in this time. */
  stepMs: 60_000,
} as const

export interface Turn {
  /** What to store; undefined: nothing changes. */
  readonly next: Turns | undefined
  /** Whether two devices have the key. */
  readonly isCopy: boolean
  /** Whether this request shows it. */
  readonly isNews: boolean
}

const nothing: Turns = { starts: [], returns: [], falls: [] }

/** @param now Unix milliseconds */
export function takeTurn(before: Turns | undefined, contact: Contact, now: number): Turn {
  const turns = before ?? nothing
  const [current] = turns.starts
  const known = turns.starts.find(({ id }) => id === contact.id)
  const wasCopy = isCopyAt(turns, now)
  const same = (next: Turns | undefined): Turn => ({ next, isCopy: wasCopy, isNews: false })
  if (!known || !current) return same(heard(turns, contact, now))
  const isAbove = contact.count > known.count
  if (known === current && isAbove)
    return same(isPast(current.at, now, turnLimits.stepMs) ? heard(turns, contact, now) : undefined)
  if (!isPast(known === current ? current.at : current.since, now, turnLimits.graceMs)) return same(undefined)
  const { returns, falls } = turns
  const next = isAbove
    ? heard({ ...turns, returns: [...returns, now].slice(-turnLimits.returns) }, contact, now)
    : heard({ ...turns, falls: [...falls, now].slice(-turnLimits.falls) }, contact, now)
  const isCopy = isCopyAt(next, now)
  return { next, isCopy, isNews: isCopy && !wasCopy }
}

/** Puts the start of a request first. */
function heard({ starts, ...turns }: Turns, { id, count }: Contact, now: number): Turns {
  const since = starts[0]?.id === id ? starts[0].since : now
  const others = starts.filter((each) => each.id !== id)
  return { ...turns, starts: [{ id, count, since, at: now }, ...others].slice(0, turnLimits.starts) }
}

/** Whether the first of as many events as a copy needs is young enough. A clock that was set back makes nothing a copy. */
const isCopyAt = ({ returns, falls }: Turns, now: number): boolean =>
  (returns.length >= turnLimits.returns && isWithin(returns[0]!, now, turnLimits.returnsMs)) ||
  (falls.length >= turnLimits.falls && isWithin(falls[0]!, now, turnLimits.fallsMs))

const isWithin = (from: number, now: number, ms: number): boolean => from <= now && now - from <= ms

/** With a clock that was set back, nothing is past until it is later than before: what is noticed then is noticed later. */
const isPast = (from: number, now: number, ms: number): boolean => now - from > ms
