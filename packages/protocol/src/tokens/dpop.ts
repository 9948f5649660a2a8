/** DPoP proofs (RFC 9449 § 4.2) and the statement that a node makes of itself inside one. */
import * as z from 'zod'
import type { JoinClaim } from './join.ts'
import { publicJwk } from './jwk.ts'
import type { LeaseUse } from './leases.ts'
import type { StartClaim } from './start.ts'
import type { DeviceVitals } from './vitals.ts'

export const dpopType = 'dpop+jwt'

/** Most services in the statement of a node. */
export const maxStatedServices = 30

/**
 * What a node states about itself when it requests an edge ID token.
 * It is in the signed proof, so that it cannot be changed in transit.
 */
export const nodeStatement = z.strictObject({
  name: z.string().min(1).max(255).describe('Name of the device'),
  /** Public key for the agreement of the HMAC secret; see docs/decisions/hmac-secret.md. */
  hmac_key: publicJwk,
  /** Audience of the token wanted; absent: the tenants of the cloud. */
  audience: z.string().optional(),
  /** One-time code, where enrolment needs one. */
  enrolment_code: z.string().optional(),
  /** The account that the node is associated with, and the access token by which it came to be; "" without a token. */
  account: z.strictObject({ id: z.string(), access_token: z.string().optional() }).optional(),
  /** Version of the runtime. */
  version: z.string().max(64).optional(),
  /** Services that it runs, for its owner to see: the first ones that fit, since the statement travels in a header. */
  services: z
    .array(
      z.strictObject({
        id: z.string().max(128),
        name: z.string().max(64),
        image: z.string().max(255),
        state: z.string().max(16),
      }),
    )
    .max(maxStatedServices)
    .optional(),
  /** Made up for this request: the answer brings the time, signed together with it. */
  time_nonce: z.string().min(16).max(64).optional(),
})

export type NodeStatement = z.infer<typeof nodeStatement>

export interface DpopClaims {
  readonly jti: string
  readonly htm: string
  readonly htu: string
  readonly iat: number
  readonly nonce?: string
  /** Hash of the access token that is sent with the proof (RFC 9449 § 4.2). */
  readonly ath?: string
  /** Hash of the body of the request, where the proof covers it: a claim of ours. */
  readonly bh?: string
  readonly node?: NodeStatement
  /** Beside `node`, which has a closed list of members: an older service ignores it. null: the device does not state any. */
  readonly vitals?: DeviceVitals | null
  /** Leases that were used since the last report. */
  readonly leases?: readonly LeaseUse[]
  /** By which key the device wants to join an account. */
  readonly join?: JoinClaim
  /** Which start of the runtime the request is from. */
  readonly start?: StartClaim
}
