/** HTTP shapes of the identity service. */
import * as z from 'zod'
import { publicJwk } from '../tokens/jwk.ts'

/** Paths below the issuer's URL. */
export const identityPaths = {
  openidConfiguration: '/.well-known/openid-configuration',
  oauthMetadata: '/.well-known/oauth-authorization-server',
  jwks: '/jwks',
  token: '/token',
  /** A node asks for its edge ID token; registers the node, agrees the HMAC secret and reports the account on the way. */
  edgeToken: '/edge/token',
  /** A node asks whether another node's HMAC code is good. */
  verifyHmac: '/edge/hmac/verify',
  health: '/healthz',
} as const

export const grantTypes = {
  idTokenSignin: 'id_token_signin',
  tokenExchange: 'urn:ietf:params:oauth:grant-type:token-exchange',
} as const

/** RFC 8693 § 3. */
export const tokenTypes = {
  idToken: 'urn:ietf:params:oauth:token-type:id_token',
  accessToken: 'urn:ietf:params:oauth:token-type:access_token',
  jwt: 'urn:ietf:params:oauth:token-type:jwt',
} as const

/** RFC 6749 § 5.1; `issued_token_type` with the token exchange only (RFC 8693 § 2.2.1). */
export const tokenResponse = z.object({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.number().int().describe('Seconds'),
  scope: z.string(),
  id_token: z
    .string()
    .optional()
    .describe('The ID token of the developer, where the scope "openid" was granted'),
  issued_token_type: z.string().optional(),
})

export type TokenResponse = z.infer<typeof tokenResponse>

export const edgeTokenResponse = z.object({
  id_token: z.string(),
  expires_in: z.number().int().describe('Seconds'),
  account_id: z.string().describe('Account of the node in the registry; empty where there is none'),
  time: z.number().describe('Time of the service, in Unix milliseconds'),
  hmac_key: publicJwk.describe("The cloud's half of the agreement of the HMAC secret"),
})

export type EdgeTokenResponse = z.infer<typeof edgeTokenResponse>

export const verifyHmacResponse = z.union([
  z.object({ valid: z.literal(true), expiresAt: z.iso.datetime() }),
  z.object({ valid: z.literal(false), reason: z.enum(['invalid', 'wrong_node', 'wrong_uri', 'expired']) }),
])

export type VerifyHmacResponse = z.infer<typeof verifyHmacResponse>

export const oauthErrorResponse = z.object({ error: z.string(), error_description: z.string().optional() })

/** RFC 8414 § 2; what callers of ours read. */
export const metadata = z.looseObject({
  issuer: z.string(),
  token_endpoint: z.string(),
  jwks_uri: z.string(),
})
