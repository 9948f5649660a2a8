/** The lists that decide: whether a token is revoked, by the newest list of its issuer. */
import type { BaseClaims } from '@selvedge/protocol/tokens'
import { findRevocation, type RevocableClaims, revocationEntry } from '../tokens/revocation.ts'
import { type LiveList, type StoredList, type StoredLists, toLive } from './lists.ts'

export interface LiveLists {
  get(issuer: string): LiveList | undefined
  /** @returns the list that decides from now on */
  replace(issuer: string, list: StoredList): LiveList
  /** When each list was signed, in Unix seconds. */
  signedAt(): number[]
  /** Why a token is revoked, in words; undefined if it is not. */
  reasonFor(claims: RevocableClaims & Pick<BaseClaims, 'iss'>): string | undefined
}

export function createLiveLists({ lists }: StoredLists): LiveLists {
  const live = new Map<string, LiveList>()
  for (const [issuer, list] of Object.entries(lists)) live.set(issuer, toLive(list))
  /** Entries of the tokens that are in use: hashing them for each call would cost more than the call. */
  const entries = new WeakMap<object, Map<string, string>>()

  return {
    get: (issuer) => live.get(issuer),
    replace(issuer, list) {
      const now = toLive(list)
      live.set(issuer, now)
      return now
    },
    signedAt: () => [...live.values()].map(({ list }) => list.iat),
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
  }
}
