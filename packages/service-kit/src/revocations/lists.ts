/**
 * What a verifier holds of an issuer's list of revoked tokens, and how an answer of the issuer changes it. Numbers decide which of
 * two lists is newer, not clocks. An entry is removed only if the issuer states that it expired; what a whole list
 * does not name any more stays for as long as any access token may live, so that an issuer that was restored from a backup, or
 * that has a wrong clock, makes nothing valid again.
 */
import type { RevocationsClaims } from '@selvedge/protocol/tokens'
import * as z from 'zod'
import type { Ending } from '../tokens/revocation.ts'

const content = {
  revoked: z.array(z.string()),
  not_before: z.record(z.string(), z.number()),
  epochs: z.record(z.string(), z.number()).default({}),
}

const storedList = z.strictObject({
  /** Unix seconds at which it was signed. */
  iat: z.number(),
  seq: z.number(),
  /** Name of the state of this number; "" of an older service. */
  mark: z.string().default(''),
  etag: z.string(),
  ...content,
  /** Unix second until which the notice that the list went back is shown; 0: it did not. */
  restartedUntil: z.number().default(0),
  /** What newer lists do not name any more, each with the Unix second until which it stays. */
  retained: z.array(z.strictObject({ until: z.number(), ...content })).default([]),
})
export type StoredList = z.infer<typeof storedList>

/** The lists of all issuers, by their URL. */
export const storedLists = z.strictObject({ lists: z.record(z.string(), storedList) })
export type StoredLists = z.infer<typeof storedLists>
type Content = Pick<StoredList, 'revoked' | 'not_before' | 'epochs'>

/** Seconds: longest life of an access token, with a leeway; by which the ends of what is retained are rounded up. */
const times = { maxLifeSeconds: 86_400 + 300, stepSeconds: 3600 }
/** Seconds by which an issuer's time may differ from this device's before a notice is raised; it signs again every 5 minutes. */
const maxDifferenceSeconds = 600
/** Seconds by which the clocks of two replicas of an issuer may differ. */
const skewSeconds = 60

/** Unix second at which a list was found to go back, as after a restored backup; undefined: it never did. */
export const restartedAt = ({ restartedUntil }: StoredList): number | undefined =>
  restartedUntil === 0 ? undefined : restartedUntil - times.maxLifeSeconds

export interface Now {
  /** Unix seconds. */
  readonly now: number
  /** Whether this device knows the time. */
  readonly isTrusted: boolean
}

export type Applied =
  | { readonly outcome: 'refused'; readonly why: string }
  | {
      readonly outcome: 'accepted'
      readonly list: StoredList
      /** The issuer signs with another time than this device has. */
      readonly hasWrongTime: boolean
    }

/** @param held what is stored; undefined: nothing yet */
export function applyList(
  held: StoredList | undefined,
  claims: RevocationsClaims,
  etag: string,
  { now, isTrusted }: Now,
): Applied {
  const hasWrongTime = isTrusted && Math.abs(claims.iat - now) > maxDifferenceSeconds
  const { iat, seq, mark = '' } = claims
  const head = { iat, seq, mark, etag, restartedUntil: held?.restartedUntil ?? 0 }
  const retained = held?.retained.filter(({ until }) => !isTrusted || until > now) ?? []
  if (claims.since !== undefined) {
    if (!held || claims.since !== held.seq || seq < held.seq)
      return { outcome: 'refused', why: 'it continues another list than the one that is held' }
    const { next, dropped } = change(held, claims)
    // An issuer with a wrong clock expires entries too early.
    const kept = hasWrongTime ? retain(retained, dropped, now) : retained
    const list = { ...head, ...next, retained: kept }
    return { outcome: 'accepted', list, hasWrongTime }
  }
  const isBack = held !== undefined && (claims.restarted === true || seq < held.seq)
  if (isBack && !isSignedLater(claims, held, { now, isTrusted }))
    return { outcome: 'refused', why: 'it is older than the list that is held' }
  const next = contentOf(claims)
  const list = {
    ...head,
    ...next,
    restartedUntil: isBack ? now + times.maxLifeSeconds : head.restartedUntil,
    retained: held ? retain(retained, without(held, next), now) : [],
  }
  return { outcome: 'accepted', list, hasWrongTime }
}

/** A list with a smaller number is a replayed one, unless it was signed later; a time in the future proves nothing. */
const isSignedLater = ({ iat }: RevocationsClaims, held: StoredList, { now, isTrusted }: Now): boolean =>
  iat >= held.iat - skewSeconds || (isTrusted && held.iat > now + maxDifferenceSeconds)

const contentOf = ({ revoked, not_before, epochs = {} }: RevocationsClaims | Content): Content => ({
  revoked: [...revoked],
  not_before: { ...not_before },
  epochs: { ...epochs },
})

/** Adds new entries, and removes expired ones. */
function change(held: StoredList, claims: RevocationsClaims): { next: Content; dropped: Content } {
  const ended = new Set(claims.ended)
  const staying = (times: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(times).filter(([entry]) => !ended.has(entry)))
  const next: Content = {
    revoked: [...new Set([...held.revoked.filter((entry) => !ended.has(entry)), ...claims.revoked])],
    not_before: { ...staying(held.not_before), ...claims.not_before },
    epochs: { ...staying(held.epochs), ...claims.epochs },
  }
  return { next, dropped: without(held, next) }
}

/** What one has and the other has not, or has with smaller numbers. */
function without(held: Content, next: Content): Content {
  const known = new Set(next.revoked)
  const more = (mine: Readonly<Record<string, number>>, theirs: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(mine).filter(([entry, at]) => at > (theirs[entry] ?? -1)))
  return {
    revoked: held.revoked.filter((entry) => !known.has(entry)),
    not_before: more(held.not_before, next.not_before),
    epochs: more(held.epochs, next.epochs),
  }
}

function retain(retained: StoredList['retained'], dropped: Content, now: number): StoredList['retained'] {
  if (
    dropped.revoked.length + Object.keys(dropped.not_before).length + Object.keys(dropped.epochs).length ===
    0
  )
    return retained
  const until = Math.ceil((now + times.maxLifeSeconds) / times.stepSeconds) * times.stepSeconds
  const same = retained.find((each) => each.until === until)
  const merged = {
    until,
    revoked: [...new Set([...(same?.revoked ?? []), ...dropped.revoked])],
    not_before: withLargest(same?.not_before, dropped.not_before),
    epochs: withLargest(same?.epochs, dropped.epochs),
  }
  return [...retained.filter((each) => each !== same), merged]
}

/** All entries of both, each with its larger number: a list that is reset twice makes nothing valid that the first one revoked. */
const withLargest = (
  one: Readonly<Record<string, number>> = {},
  other: Readonly<Record<string, number>>,
): Record<string, number> => ({
  ...one,
  ...Object.fromEntries(Object.entries(other).map(([entry, at]) => [entry, Math.max(at, one[entry] ?? at)])),
})

/** What decides: the list and all that is retained. */
export interface LiveList {
  readonly list: StoredList
  readonly revoked: ReadonlySet<string>
  readonly endings: ReadonlyMap<string, Ending>
}

export function toLive(list: StoredList): LiveList {
  const revoked = new Set<string>()
  const endings = new Map<string, Ending>()
  for (const each of [list, ...list.retained]) {
    for (const entry of each.revoked) revoked.add(entry)
    for (const entry of Object.keys({ ...each.not_before, ...each.epochs }))
      endings.set(entry, laterOf(endings.get(entry), each.not_before[entry], each.epochs[entry]))
  }
  return { list, revoked, endings }
}

const laterOf = (known: Ending | undefined, notBefore = 0, epoch?: number): Ending => ({
  notBefore: Math.max(known?.notBefore ?? 0, notBefore),
  epoch: known?.epoch === undefined ? epoch : Math.max(known.epoch, epoch ?? 0),
})
