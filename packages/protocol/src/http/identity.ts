/** HTTP shapes of the identity service. */
import * as z from 'zod'
import { publicJwk } from '../tokens/jwk.ts'

/** Paths below the issuer's URL. */
export const identityPaths = {
  openidConfiguration: '/.well-known/openid-configuration',
  oauthMetadata: '/.well-known/oauth-authorization-server',
  jwks: '/jwks',
  token: '/token',
  /** RFC 6749 § 3.1: a page on which a person lets an app act. */
  authorize: '/authorize',
  /** RFC 9126. */
  pushedAuthorization: '/par',
  /** OpenID Connect RP-Initiated Logout 1.0: a page on which a person signs out of an app. */
  endSession: '/logout',
  /** A node requests its edge ID token. The same request registers the node, agrees on the HMAC secret and reports the account. */
  edgeToken: '/edge/token',
  /** A node checks the HMAC code of another node. */
  verifyHmac: '/edge/hmac/verify',
  /** RFC 8628 § 3.1. */
  deviceAuthorization: '/device_authorization',
  /** RFC 7009. */
  revoke: '/revoke',
  /** RFC 7662. */
  introspect: '/introspect',
  /** OpenID Connect Core 1.0 § 5.3. */
  userinfo: '/userinfo',
  /** The signed list of revoked tokens that have not expired. */
  revocations: '/revocations',
  /** JSON-RPC of the console, for its own pages. */
  consoleApi: '/console/api',
  /** A nonce for the first proof of a page of the console. */
  consoleNonce: '/console/nonce',
  /** Changes of the devices of the account, as server-sent events. */
  consoleEvents: '/console/events',
  /** The locations of the devices of the account, for the map: `accountPlaces` of the discovery service. */
  consolePlaces: '/console/places',
  /** JSON-RPC of the account for the command line of an owner: shares and groups. */
  accountApi: '/account/api',
  /** The audit log of the account as JSON lines. */
  consoleAudit: '/console/audit.jsonl',
  /** The devices of the account that fit the filter in the query, as CSV or as a JSON array. */
  consoleDevicesCsv: '/console/devices.csv',
  consoleDevicesJson: '/console/devices.json',
  /** Page of the console on which a person approves a sign-in from a terminal. */
  verification: '/device',
  health: '/healthz',
  /** Whether a load balancer should send requests here. */
  ready: '/readyz',
} as const

export const grantTypes = {
  idTokenSignin: 'id_token_signin',
  tokenExchange: 'urn:ietf:params:oauth:grant-type:token-exchange',
  refreshToken: 'refresh_token',
  deviceCode: 'urn:ietf:params:oauth:grant-type:device_code',
  authorizationCode: 'authorization_code',
} as const

/** What the `request_uri` of a pushed request begins with (RFC 9126 § 2.2). */
export const requestUriPrefix = 'urn:ietf:params:oauth:request_uri:'

/** Values of the parameter `prompt` (OpenID Connect Core 1.0 § 3.1.2.1). */
export const promptValues = ['none', 'login', 'consent', 'select_account'] as const

/** Kinds of app that people sign in to: with a server, an installed program, or a page without a server. */
export const appTypes = ['web', 'native', 'browser'] as const
export type AppType = (typeof appTypes)[number]

/** Who may sign in to an app: people of the project's account, or every person of the installation. */
export const appAudiences = ['account', 'anyone'] as const
export type AppAudience = (typeof appAudiences)[number]

/** Limits of a project: addresses of each kind, and characters of one. */
export const appLimits = { addresses: 20, characters: 1000 } as const

/** Client ID of this project's own command line, known to every identity service. */
export const cliClientId = 'selvedge-cli'

/** RFC 8693 § 3. */
export const tokenTypes = {
  idToken: 'urn:ietf:params:oauth:token-type:id_token',
  accessToken: 'urn:ietf:params:oauth:token-type:access_token',
  jwt: 'urn:ietf:params:oauth:token-type:jwt',
} as const

/** RFC 6749 § 5.1; `issued_token_type` with the token exchange only (RFC 8693 § 2.2.1). */
export const tokenResponse = z.object({
  access_token: z.string(),
  token_type: z
    .enum(['Bearer', 'DPoP'])
    .describe('DPoP if the request had a proof: the token is bound to the key of the proof (RFC 9449 § 5)'),
  expires_in: z.number().int().describe('Seconds'),
  scope: z.string(),
  id_token: z
    .string()
    .optional()
    .describe(
      'The ID token, if the scope "openid" was granted: of the developer, or of the person who signed in to an app',
    ),
  issued_token_type: z.string().optional(),
  refresh_token: z.string().optional().describe('If the scope "offline_access" was granted'),
  lease: z
    .string()
    .optional()
    .describe(
      'For a node, a key-bound token and a project with leases: a JWT of the type lease+jwt, which the runtime of the node exchanges while it cannot reach the identity service',
    ),
  lease_expires_in: z.number().int().optional().describe('Seconds'),
  lease_scope: z
    .string()
    .optional()
    .describe(
      'In place of a lease: the project allows one with these scopes, and the request had no DPoP proof. Repeat it with one',
    ),
})

export type TokenResponse = z.infer<typeof tokenResponse>

export const edgeTokenResponse = z.object({
  id_token: z.string(),
  expires_in: z.number().int().describe('Seconds'),
  account_id: z.string().describe('Account of the node in the registry; empty if it has none'),
  time: z.number().describe('Time of the service, in Unix milliseconds'),
  time_token: z
    .string()
    .optional()
    .describe(
      'The same time, signed: a JWT of the type time+jwt with "nonce" (the "time_nonce" of the statement) and "time". The node accepts no unsigned time',
    ),
  hmac_key: publicJwk.describe('The public key of the cloud for the agreement on the HMAC secret'),
  removed_account: z
    .string()
    .optional()
    .describe(
      'The account that its owner removed from this node in the console; the node removes it as well',
    ),
  copied: z
    .literal(true)
    .optional()
    .describe(
      'Two devices have the key of the node: their requests, with the claim "start" in their proofs, take turns',
    ),
  join: z
    .enum(['joined', 'waiting'])
    .optional()
    .describe(
      'For a proof with the claim "join": whether the node belongs to the account of the join key now, or waits until an owner approves it',
    ),
})

export type EdgeTokenResponse = z.infer<typeof edgeTokenResponse>

export const verifyHmacResponse = z.union([
  z.object({ valid: z.literal(true), expiresAt: z.iso.datetime() }),
  z.object({ valid: z.literal(false), reason: z.enum(['invalid', 'wrong_node', 'wrong_uri', 'expired']) }),
])

export type VerifyHmacResponse = z.infer<typeof verifyHmacResponse>

/** RFC 8628 § 3.2. */
export const deviceAuthorizationResponse = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
  expires_in: z.number().int().describe('Seconds'),
  interval: z.number().int().describe('Seconds between two polls'),
})

export type DeviceAuthorizationResponse = z.infer<typeof deviceAuthorizationResponse>

/** RFC 9126 § 2.2. */
export const pushedAuthorizationResponse = z.object({
  request_uri: z.string().describe('For the parameter "request_uri" of the authorization endpoint, once'),
  expires_in: z.number().int().describe('Seconds'),
})

export type PushedAuthorizationResponse = z.infer<typeof pushedAuthorizationResponse>

export const oauthErrorResponse = z.object({ error: z.string(), error_description: z.string().optional() })

/** RFC 8414 § 2; the members that our clients read. */
export const metadata = z.looseObject({
  issuer: z.string(),
  token_endpoint: z.string(),
  jwks_uri: z.string(),
})

/** As much of the metadata of any issuer as its keys need: CI systems have no token endpoint. */
const keyMetadata = metadata.pick({ issuer: true, jwks_uri: true })

/**
 * The URL of an issuer's key set, from its metadata.
 *
 * @param json document at `identityPaths.oauthMetadata` or `identityPaths.openidConfiguration`
 * @throws Error if the document names another issuer (RFC 8414 § 3.3), or the URL is not of HTTP, carries credentials, or is not
 *   encrypted although the issuer is
 */
export function readKeySetUrl(json: unknown, issuer: string): string {
  const { issuer: named, jwks_uri: text } = keyMetadata.parse(json)
  if (named !== issuer) throw new Error(`${issuer} calls itself ${named}`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  const schemes = issuer.startsWith('https:') ? ['https:'] : ['https:', 'http:']
  if (!url || !schemes.includes(url.protocol) || url.username !== '' || url.password !== '')
    throw new Error(`the jwks_uri of ${issuer} is ${JSON.stringify(text)}; expected ${schemes[0]}//…`)
  return text
}
