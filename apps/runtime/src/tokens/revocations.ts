/**
 * What the issuers revoked before it ended, from their signed lists. They are fetched while the network is there and kept, so
 * that a revoked token is refused offline and after a restart as well; their age is shown.
 */
import { join } from 'node:path'
import { type IdentityClient, isSelvedgeError } from '@selvedge/client'
import {
  type AccessClaims,
  type RevocationsClaims,
  revocationsAudience,
  revocationsProfile,
} from '@selvedge/protocol/tokens'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { safely } from '@selvedge/service-kit/safely'
import { type DocumentStore, openDocument } from '@selvedge/service-kit/store'
import { findRevocation, revocationEntry, type TokenVerifier } from '@selvedge/service-kit/tokens'
import * as z from 'zod'
import type { Notices } from '../node/notices.ts'

const storedList = z.strictObject({
  /** Unix seconds at which it was signed. */
  iat: z.number(),
  seq: z.number(),
  etag: z.string(),
  revoked: z.array(z.string()),
  not_before: z.record(z.string(), z.number()),
  epochs: z.record(z.string(), z.number()).default({}),
})
const stored = z.strictObject({ lists: z.record(z.string(), storedList) })
type StoredList = z.infer<typeof storedList>
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

export interface RevocationsParts {
  readonly store: DocumentStore<Stored>
  readonly nodeId: string
  readonly clock: Clock
  readonly notices: Notices
  /** The issuers whose access tokens are accepted, each with the way to it. */
  readonly issuers: readonly { readonly issuer: string; readonly client: IdentityClient }[]
  /** Believes the issuers' own keys. */
  readonly verifier: TokenVerifier
  /** Seconds between two looks. */
  readonly interval: number
  /** Called when an issuer has something to say of this node itself. */
  readonly onOwnNode: () => void
}

/** Milliseconds until the first look: the start has more urgent things to do, and what was kept holds meanwhile. */
const firstLook = 250

/** Seconds by which the clocks of two replicas of an issuer may differ: an older list is never taken for a newer one. */
const skew = 60

interface Live {
  readonly list: StoredList
  readonly revoked: ReadonlySet<string>
}

/** The lists that are kept on the disk. */
export const openLists = (folder: string): Promise<DocumentStore<Stored>> =>
  openDocument(join(folder, 'revocations'), {
    version: 1,
    initial: { lists: {} },
    read: (json) => stored.parse(json),
  })

export function createRevocations(parts: RevocationsParts): Revocations {
  const { nodeId, clock, notices, issuers, verifier, store } = parts
  const live = new Map<string, Live>()
  for (const [issuer, list] of Object.entries(store.value.lists)) live.set(issuer, liven(list))
  /** Entries of the tokens that are in use: hashing them for each call would cost more than the call. */
  const entries = new WeakMap<AccessClaims, Map<string, string>>()
  const ownEntry = revocationEntry('node', nodeId)
  /** Issuers whose last list was not accepted. */
  const refused = new Set<string>()
  let checkedAt: string | null = null
  let status: RevocationsStatus = describe()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let stopped = false

  function liven(list: StoredList): Live {
    return { list, revoked: new Set(list.revoked) }
  }

  function describe(): RevocationsStatus {
    const times = [...live.values()].map(({ list }) => list.iat)
    return { checkedAt, issuedAt: times.length === 0 ? null : isoTime(Math.min(...times) * 1000) }
  }

  const ownEnding = (list?: StoredList) => `${list?.not_before[ownEntry]} ${list?.epochs[ownEntry]}`

  async function look({ issuer, client }: RevocationsParts['issuers'][number]): Promise<boolean> {
    const held = live.get(issuer)?.list
    try {
      const answer = await client.revocations(held?.etag)
      if (answer === 'unchanged') return taken(issuer)
      const claims = await verifier.verify(answer.token, revocationsProfile, revocationsAudience)
      if (claims.iss !== issuer) throw new Error(`the list is of ${claims.iss}`)
      if (held && isOlder(claims, held)) {
        return refuse(issuer, { seq: claims.seq, why: 'it is older than the list that is held' })
      }
      await take(issuer, claims, answer.etag)
      return taken(issuer)
    } catch (cause) {
      // An issuer that is away is no failure of the list: getMe shows how old it is.
      return isSelvedgeError(cause) ? false : refuse(issuer, { cause })
    }
  }

  function taken(issuer: string): true {
    refused.delete(issuer)
    if (refused.size === 0) notices.clear('revocations_refused')
    return true
  }

  function refuse(issuer: string, details: object): false {
    refused.add(issuer)
    notices.raise('revocations_refused', { issuer, ...details })
    return false
  }

  async function take(
    issuer: string,
    { iat, seq, revoked, not_before, epochs = {} }: RevocationsClaims,
    etag: string,
  ): Promise<void> {
    const list: StoredList = {
      iat,
      seq,
      etag,
      revoked: [...revoked],
      not_before: { ...not_before },
      epochs: { ...epochs },
    }
    const before = ownEnding(live.get(issuer)?.list)
    live.set(issuer, liven(list))
    await store.update((value) => ({ lists: { ...value.lists, [issuer]: list } }))
    if (ownEnding(list) !== before) parts.onOwnNode()
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
      if (!own || (own.list.revoked.length === 0 && Object.keys(own.list.not_before).length === 0))
        return undefined
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
        const notBefore = own.list.not_before[entry]
        return notBefore === undefined ? undefined : { notBefore, epoch: own.list.epochs[entry] }
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

/** Whether a list was signed before the one that is held. Within the skew of the clocks, the number decides. */
function isOlder({ iat, seq }: Pick<RevocationsClaims, 'iat' | 'seq'>, held: StoredList): boolean {
  if (Math.abs(iat - held.iat) > skew) return iat < held.iat
  return seq < held.seq
}
