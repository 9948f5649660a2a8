/**
 * What the issuers revoked before it ended, from their signed lists. They are fetched while the network is there and kept, so
 * that a revoked token is refused offline and after a restart as well; their age is shown.
 */
import { join } from 'node:path'
import { type IdentityClient, isSelvedgeError } from '@selvedge/client'
import type { NoticeReason } from '@selvedge/protocol'
import { type AccessClaims, revocationsAudience, revocationsProfile } from '@selvedge/protocol/tokens'
import { type Clock, isoTime, seconds } from '@selvedge/service-kit/clock'
import { safely } from '@selvedge/service-kit/safely'
import { type DocumentStore, openDocument } from '@selvedge/service-kit/store'
import { findRevocation, revocationEntry, type TokenVerifier } from '@selvedge/service-kit/tokens'
import * as z from 'zod'
import type { Notices } from '../node/notices.ts'
import { type Applied, applyList, type LiveList, storedList, toLive } from './revocation-lists.ts'

const stored = z.strictObject({ lists: z.record(z.string(), storedList) })
type Stored = z.infer<typeof stored>

interface RevocationsStatus {
  /** When the lists were last found to be the newest; null: not since the start. */
  readonly checkedAt: string | null
  /** When the oldest of the lists that are held was signed; null where there is none. */
  readonly issuedAt: string | null
}

export interface Revocations {
  /** Why a token is not good any more; undefined where it is. */
  reasonFor(claims: AccessClaims): string | undefined
  /** The same object until something changes. */
  status(): RevocationsStatus
  start(): void
  stop(): Promise<void>
}

type RevocationNotice = Extract<NoticeReason, `revocations_${string}`>

export interface RevocationsParts {
  readonly store: DocumentStore<Stored>
  readonly nodeId: string
  readonly clock: Clock
  readonly notices: Notices
  /** The issuers whose access tokens are accepted, each with its client. */
  readonly issuers: readonly { readonly issuer: string; readonly client: IdentityClient }[]
  /** Believes the issuers' own keys. */
  readonly verifier: TokenVerifier
  /** Whether this device knows the time. */
  readonly isTimeTrusted: () => boolean
  /** Seconds between two looks. */
  readonly interval: number
  /** Called when an issuer has something to say of this node itself. */
  readonly onOwnNode: () => void
}

/** Milliseconds until the first look: the start has more urgent things to do, and what was kept holds meanwhile. */
const firstLook = 250

/** Failures in a row, of an issuer that answers, before a notice is raised. */
const maxFailures = 3

/** The lists that are kept on the disk. */
export const openLists = (folder: string): Promise<DocumentStore<Stored>> =>
  openDocument(join(folder, 'revocations'), {
    version: 2,
    initial: { lists: {} },
    read: (json) => stored.parse(json),
  })

export function createRevocations(parts: RevocationsParts): Revocations {
  const { nodeId, clock, notices, issuers, verifier, store } = parts
  const live = new Map<string, LiveList>()
  for (const [issuer, list] of Object.entries(store.value.lists)) live.set(issuer, toLive(list))
  /** Entries of the tokens that are in use: hashing them for each call would cost more than the call. */
  const entries = new WeakMap<AccessClaims, Map<string, string>>()
  const ownEntry = revocationEntry('node', nodeId)
  /** Issuers that have a reason for a notice. */
  const troubled = new Map<RevocationNotice, Set<string>>()
  const failures = new Map<string, number>()
  let checkedAt: string | null = null
  let status: RevocationsStatus = describe()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let stopped = false

  function describe(): RevocationsStatus {
    const times = [...live.values()].map(({ list }) => list.iat)
    return { checkedAt, issuedAt: times.length === 0 ? null : isoTime(Math.min(...times) * 1000) }
  }

  const ownEnding = (issuer: string) => JSON.stringify(live.get(issuer)?.endings.get(ownEntry))

  async function look({ issuer, client }: RevocationsParts['issuers'][number]): Promise<boolean> {
    // The request names the list on the disk, so a list that could not be stored is fetched again.
    const held = store.value.lists[issuer]
    try {
      const answer = await client.revocations(held?.mark ? held : held?.etag)
      failures.delete(issuer)
      if (answer !== 'unchanged') {
        const claims = await verifier.verify(answer.token, revocationsProfile, revocationsAudience)
        if (claims.iss !== issuer) throw new Error(`the list is of ${claims.iss}`)
        const at = { now: seconds(clock), isTrusted: parts.isTimeTrusted() }
        const applied = applyList(held, claims, answer.etag, at)
        if (applied.outcome === 'refused') return refuse(issuer, { seq: claims.seq, why: applied.why })
        await take(issuer, applied)
      }
      show('revocations_refused', issuer, false)
      const { restartedUntil = 0, seq } = live.get(issuer)?.list ?? {}
      show('revocations_restarted', issuer, restartedUntil > seconds(clock), { seq })
      return true
    } catch (cause) {
      return isAway(issuer, cause) ? false : refuse(issuer, { cause })
    }
  }

  /** Whether an issuer only does not answer, which is no failure of the list: getMe shows its age. */
  function isAway(issuer: string, cause: unknown): boolean {
    if (!isSelvedgeError(cause)) return false
    if (cause.reason === 'not_running') return true
    // Another refusal, or an answer that never ends, may pass; what cannot be read at all will not.
    const count = (failures.get(issuer) ?? 0) + 1
    failures.set(issuer, count)
    return cause.reason !== 'bad_answer' && count < maxFailures
  }

  function refuse(issuer: string, details: object): false {
    show('revocations_refused', issuer, true, details)
    return false
  }

  function show(reason: RevocationNotice, issuer: string, isSo: boolean, details: object = {}): void {
    const issuersOf = troubled.get(reason) ?? new Set()
    if (!isSo) issuersOf.delete(issuer)
    else {
      troubled.set(reason, issuersOf.add(issuer))
      notices.raise(reason, { issuer, ...details })
    }
    if (issuersOf.size === 0) notices.clear(reason)
  }

  /** It decides from now on, also if it cannot be stored: then it is fetched again until it can. */
  async function take(
    issuer: string,
    { list, hasWrongTime }: Extract<Applied, { outcome: 'accepted' }>,
  ): Promise<void> {
    const before = ownEnding(issuer)
    live.set(issuer, toLive(list))
    const details = { seq: list.seq, issuedAt: isoTime(list.iat * 1000) }
    show('revocations_wrong_time', issuer, hasWrongTime, details)
    try {
      await store.update((value) => ({ lists: { ...value.lists, [issuer]: list } }))
      show('revocations_not_stored', issuer, false)
    } catch (cause) {
      show('revocations_not_stored', issuer, true, { ...details, cause })
    }
    if (ownEnding(issuer) !== before) parts.onOwnNode()
  }

  async function run(): Promise<void> {
    try {
      const results = await Promise.all(issuers.map(look))
      if (results.every(Boolean)) checkedAt = isoTime(clock.now())
      status = describe()
    } finally {
      running = undefined
      if (!stopped) timer = setTimeout(begin, parts.interval * 1000 * (0.9 + Math.random() / 10))
    }
  }

  const begin = safely('revocations.look', () => {
    running = run()
    return running
  })

  return {
    reasonFor(claims) {
      const own = live.get(claims.iss)
      if (!own || own.revoked.size + own.endings.size === 0) return undefined
      let known = entries.get(claims)
      if (!known) entries.set(claims, (known = new Map()))
      const entryOf = (kind: Parameters<typeof revocationEntry>[0], subject: string) => {
        const key = `${kind}:${subject}`
        let entry = known.get(key)
        if (entry === undefined) known.set(key, (entry = revocationEntry(kind, subject)))
        return entry
      }
      return findRevocation(claims, (kind, subject) => {
        const entry = entryOf(kind, subject)
        if (kind === 'id') return own.revoked.has(entry) ? { notBefore: 0 } : undefined
        return own.endings.get(entry)
      })
    },
    status: () => status,
    start() {
      timer = setTimeout(begin, firstLook)
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running?.catch(() => undefined)
      await store.close()
    },
  }
}
