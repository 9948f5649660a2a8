/** The lists of revoked tokens of this runtime's issuers: stored on the disk, with their age and notices in getMe. */
import { join } from 'node:path'
import type { IdentityClient } from '@selvedge/client'
import type { NoticeReason } from '@selvedge/protocol'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import {
  createRevocationFeed,
  type FeedTrouble,
  type LiveList,
  restartedAt,
  type StoredLists,
  storedLists,
} from '@selvedge/service-kit/revocations'
import { type DocumentStore, openDocument } from '@selvedge/service-kit/store'
import { revocationEntry, type TokenVerifier } from '@selvedge/service-kit/tokens'
import type { Notices } from '../node/notices.ts'

interface RevocationsStatus {
  /** When the lists were last found to be the newest; null: not since the start. */
  readonly checkedAt: string | null
  /** When the oldest stored list was signed; null without a list. */
  readonly issuedAt: string | null
}

/** What is known of the list of one issuer. */
interface ListKnowledge {
  /** Unix second at which the list was signed; undefined without a list. */
  readonly issuedAt: number | undefined
  /** When it was last found to be the newest, on the `monotonic` scale in milliseconds; -Infinity: not since the start. */
  readonly confirmedAt: number
  /** Unix second at which the issuer turned out to be restored from a backup; undefined: it never did. */
  readonly restartedAt: number | undefined
}

export interface Revocations {
  /** Why a token is revoked; undefined if it is not. */
  reasonFor(claims: AccessClaims): string | undefined
  /** The same object until something changes. */
  status(): RevocationsStatus
  knowledgeOf(issuer: string): ListKnowledge
  /** Fetches all lists now. Resolves with whether all of them were confirmed. */
  fetchNow(): Promise<boolean>
  /** @param listener called each time that the list of an issuer was found to be the newest */
  onConfirmed(listener: (issuer: string) => void): void
  start(): void
  stop(): Promise<void>
}

type RevocationNotice = Extract<NoticeReason, `revocations_${string}`>

export interface RevocationsParts {
  readonly store: DocumentStore<StoredLists>
  readonly nodeId: string
  readonly clock: Clock
  readonly notices: Notices
  /** The issuers whose access tokens are accepted, each with the way to it. */
  readonly issuers: readonly { readonly issuer: string; readonly client: IdentityClient }[]
  /** Believes the issuers' own keys. */
  readonly verifier: TokenVerifier
  /** Whether this device knows the time. */
  readonly isTimeTrusted: () => boolean
  /** Seconds between two polls. */
  readonly intervalSeconds: number
  /** Called when an issuer has something to say of this node itself. */
  readonly onOwnNode: () => void
}

/** Milliseconds until the first poll: the start has more urgent work, and the stored lists are valid meanwhile. */
const firstPollMs = 250

/** The lists that are stored on the disk. */
export const openLists = (folder: string): Promise<DocumentStore<StoredLists>> =>
  openDocument(join(folder, 'revocations'), {
    version: 2,
    initial: { lists: {} },
    read: (json) => storedLists.parse(json),
  })

export function createRevocations(parts: RevocationsParts): Revocations {
  const { nodeId, clock, notices, issuers, verifier, store, isTimeTrusted, intervalSeconds } = parts
  const ownEntry = revocationEntry('node', nodeId)
  const ownEnding = (list: LiveList | undefined) => JSON.stringify(list?.endings.get(ownEntry))
  /** Issuers that have a reason for a notice. */
  const troubled = new Map<RevocationNotice, Set<string>>()
  let confirmed = (_issuer: string): void => undefined
  let status: RevocationsStatus = { checkedAt: null, issuedAt: null }

  function describe(checkedAt: string | null, signedAt: readonly number[]): void {
    const issuedAt = signedAt.length === 0 ? null : isoTime(Math.min(...signedAt) * 1000)
    status = { checkedAt, issuedAt }
  }

  function onTrouble(trouble: FeedTrouble, issuer: string, isSo: boolean, details: object): void {
    const reason: RevocationNotice = `revocations_${trouble}`
    const issuersOf = troubled.get(reason) ?? new Set()
    if (!isSo) issuersOf.delete(issuer)
    else {
      troubled.set(reason, issuersOf.add(issuer))
      notices.raise(reason, { issuer, ...details })
    }
    if (issuersOf.size === 0) notices.clear(reason)
  }

  const feed = createRevocationFeed({
    sources: () =>
      issuers.map(({ issuer, client }) => ({ issuer, fetchList: (held) => client.revocations(held) })),
    storage: store,
    verifier,
    clock,
    isTimeTrusted,
    intervalSeconds,
    firstFetchMs: firstPollMs,
    onTrouble,
    onConfirmed: (issuer) => confirmed(issuer),
    onAccepted(before, now) {
      if (ownEnding(before) !== ownEnding(now)) parts.onOwnNode()
    },
    onFetched: (isConfirmed, signedAt) =>
      describe(isConfirmed ? isoTime(clock.now()) : status.checkedAt, signedAt),
  })
  describe(null, feed.signedAt())

  return {
    reasonFor: (claims) => feed.reasonFor(claims),
    status: () => status,
    knowledgeOf(issuer) {
      const list = feed.get(issuer)?.list
      return {
        issuedAt: list?.iat,
        confirmedAt: feed.confirmedAt(issuer),
        restartedAt: list && restartedAt(list),
      }
    },
    fetchNow: feed.fetchNow,
    onConfirmed(listener) {
      confirmed = listener
    },
    start: feed.start,
    async stop() {
      await feed.stop()
      await store.close()
    },
  }
}
