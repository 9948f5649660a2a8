/**
 * What the runtime stores of itself: one small document, so that every change is one write and one fsync. Members that are not
 * known are refused and not dropped: a change that adds one raises the version.
 */
import { defaultSharing, fixSources, sharing } from '@selvedge/protocol'
import { publicJwk } from '@selvedge/protocol/tokens'
import type { DocumentFormat, DocumentStore } from '@selvedge/service-kit/store'
import * as z from 'zod'

const coordinate = z.union([z.string(), z.number()])

const storedFix = z.strictObject({
  /** As given. */
  signal: z.strictObject({
    longitude: coordinate,
    latitude: coordinate,
    speed: coordinate,
    bearing: coordinate,
  }),
  /** Unix milliseconds. Later than that of every fix before it. */
  fixedAt: z.number(),
  receivedAt: z.number(),
  source: z.enum(fixSources),
  /** Metres, as the receiver estimates it. */
  accuracy: z.number().nullable().default(null),
  /** Whether the discovery service has it. May lag behind: then the fix is sent once more, which does no harm. */
  published: z.boolean(),
})

const runtimeState = z.strictObject({
  /** Empty before the first start is done. */
  nodeId: z.string(),
  /** Empty if no account is associated. */
  accountId: z.string(),
  /** What the registry has not confirmed yet: the account, and the token that proves it; id "" for no account. */
  report: z.strictObject({ id: z.string(), access_token: z.string().optional() }).nullable(),
  /** Accounts that were removed, and the second up to which their tokens are refused. */
  revokedUntil: z.record(z.string(), z.number()),
  fix: storedFix.nullable(),
  /** Who can see the location of this node. */
  sharing: sharing.default(defaultSharing),
  /** Until when the discovery service records a track, in Unix milliseconds; 0: it records no track. */
  trackUntil: z.number().default(0),
  /** What the nodes of the account know each other by on a network, in base64url; of this account only. */
  accountKey: z.strictObject({ accountId: z.string(), key: z.string() }).nullable().default(null),
  /** The cloud's half of the HMAC agreement. */
  hmacCloudKey: publicJwk.strict().nullable(),
  /** Published keys of the issuers, so that tokens are checked offline. */
  keySets: z.record(z.string(), z.unknown()),
  /** The latest time that was ever believed, Unix milliseconds: no clock is believed that shows an earlier one. */
  timeFloor: z.number(),
})

export type RuntimeState = z.infer<typeof runtimeState>
export type StoredFix = z.infer<typeof storedFix>
export type StateStore = DocumentStore<RuntimeState>

export const initialState: RuntimeState = {
  nodeId: '',
  accountId: '',
  report: null,
  revokedUntil: {},
  fix: null,
  sharing: defaultSharing,
  trackUntil: 0,
  accountKey: null,
  hmacCloudKey: null,
  keySets: {},
  timeFloor: 0,
}

export const stateFormat: DocumentFormat<RuntimeState> = {
  version: 1,
  initial: initialState,
  read: (json) => runtimeState.parse(json),
}
