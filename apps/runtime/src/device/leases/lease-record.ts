/**
 * What the runtime stores about leases, in a document of its own: when it knew the lists of revoked tokens to be the newest, the
 * latest time at which it accepted a lease, and who worked on one, until the identity service knows.
 */
import { join } from 'node:path'
import type { LeaseUse } from '@selvedge/protocol/tokens'
import { type DocumentStore, openDocument } from '@selvedge/service-kit/store'
import * as z from 'zod'

const recordedUse = z.strictObject({
  jti: z.string(),
  sid: z.string(),
  client_id: z.string(),
  account_id: z.string(),
  /** Local tokens that were issued. */
  count: z.number(),
  /** Unix seconds. */
  first_at: z.number(),
  last_at: z.number(),
  /** When the lease that was used last expires. */
  expires_at: z.number(),
})
export type RecordedUse = z.infer<typeof recordedUse>

const leaseRecord = z.strictObject({
  /** By issuer: when its list of revoked tokens was found to be the newest, in Unix milliseconds of a confirmed clock. */
  confirmedAt: z.record(z.string(), z.number()),
  /** Unix milliseconds: no lease is accepted while the clock shows an earlier time. */
  latest: z.number(),
  /** One for each sign-in and client. */
  uses: z.array(recordedUse),
})
type LeaseRecord = z.infer<typeof leaseRecord>
export type LeaseStore = DocumentStore<LeaseRecord>

export const openLeaseRecord = (folder: string): Promise<LeaseStore> =>
  openDocument<LeaseRecord>(join(folder, 'leases'), {
    version: 1,
    initial: { confirmedAt: {}, latest: 0, uses: [] },
    read: (json) => leaseRecord.parse(json),
  })

/** Maximum sign-ins that wait to be reported. Each needs a lease of its own from the identity service. */
export const maxUses = 100

/** The same uses with one more local token. */
export function withUse(
  uses: readonly RecordedUse[],
  use: Omit<RecordedUse, 'count' | 'first_at'>,
): RecordedUse[] {
  const isSame = (each: RecordedUse) =>
    each.sid === use.sid && each.client_id === use.client_id && each.account_id === use.account_id
  const known = uses.find(isSame)
  const { count, first_at } = known ?? { count: 0, first_at: use.last_at }
  return [...uses.filter((each) => each !== known), { ...use, count: count + 1, first_at }]
}

/** The uses without what was reported: a use that went on meanwhile stays, with the rest of its tokens. */
export function withoutReported(uses: readonly RecordedUse[], reported: readonly LeaseUse[]): RecordedUse[] {
  return uses.flatMap((use) => {
    const sent = reported.find(
      ({ jti, sid, client_id }) => jti === use.jti && sid === use.sid && client_id === use.client_id,
    )
    if (!sent) return [use]
    const count = use.count - sent.count
    return count > 0 ? [{ ...use, count, first_at: sent.last_at }] : []
  })
}
