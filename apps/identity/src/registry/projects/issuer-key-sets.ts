/**
 * The key sets of the issuers that projects trust, as a replica fetched them last: they serve after a restart, and at other replicas, while
 * an issuer does not answer. Rows are of issuers of rules that answered within the last day, so their number has the limit of the rules.
 */
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import type { TrustedIssuer } from './issuers.ts'

type Named = Pick<TrustedIssuer, 'issuer' | 'allowsPrivate'>

interface StoredKeySet {
  readonly keySet: unknown
  /** Unix milliseconds. */
  readonly fetchedAt: number
}

export interface IssuerKeySets {
  /** @returns undefined if there is no key set, or if it is not one that {@link IssuerKeySets.save} wrote */
  load(issuer: Named): Promise<StoredKeySet | undefined>
  /** Stores a key set, unless the stored one is newer, or this one is too long. */
  save(issuer: Named, stored: StoredKeySet): Promise<void>
}

/** Milliseconds for which the keys of an issuer are used while it does not answer. */
export const issuerKeysValidMs = 86_400_000
/** Milliseconds by which the clocks of replicas may differ. A key set from later than that was stored by a clock that was wrong. */
const skewMs = 60_000
/** Characters of a key set: an answer of an issuer has 64 KiB, and each of its 100 keys may get an algorithm here. */
const maxLength = 72_000

/** Keys from private networks are not for rules that do not allow these. */
const keyOf = ({ issuer, allowsPrivate }: Named): string =>
  `${allowsPrivate ? 'private' : 'public'} ${issuer}`

export function createIssuerKeySets(store: SqlStore): IssuerKeySets {
  return {
    async load(issuer) {
      const [row] = await store.run(
        sql`SELECT key_set, fetched_at FROM issuer_key_sets
          WHERE issuer_key = ${keyOf(issuer)} AND LENGTH(key_set) <= ${maxLength}`,
      )
      if (!row) return undefined
      try {
        return { keySet: JSON.parse(row.key_set as string), fetchedAt: row.fetched_at as number }
      } catch {
        return undefined
      }
    },
    async save(issuer, { keySet, fetchedAt }) {
      const text = JSON.stringify(keySet)
      if (text.length > maxLength) return
      await store.run(
        sql`INSERT INTO issuer_key_sets VALUES (${keyOf(issuer)}, ${text}, CAST(${fetchedAt} AS BIGINT))
          ON CONFLICT (issuer_key) DO UPDATE SET key_set = excluded.key_set, fetched_at = excluded.fetched_at
          WHERE excluded.fetched_at > issuer_key_sets.fetched_at
            OR excluded.fetched_at < issuer_key_sets.fetched_at - ${skewMs}`,
      )
    },
  }
}
