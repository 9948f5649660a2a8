import {
  type DeviceAuthorizationResponse,
  deviceAuthorizationResponse,
  type EdgeTokenResponse,
  edgeTokenResponse,
  grantTypes,
  identityPaths,
  type TokenResponse,
  tokenResponse,
  tokenTypes,
  type VerifyHmacResponse,
  verifyHmacResponse,
} from '@selvedge/protocol'
import { read, sendWithProof, successOf } from './oauth.ts'
import type { ProofKey } from './proof-key.ts'
import { type CallOptions, type Connection, expectUrl, send } from './send.ts'

export interface Exchange {
  readonly clientId: string
  readonly developerIdToken: string
  readonly edgeIdToken: string
  readonly scope: string
  /** Additional resources that the token is for (RFC 8707). */
  readonly resource?: string
  /** The grant type: that of this API family, or that of RFC 8693. Both return equal tokens. Default `id_token_signin`. */
  readonly grant?: 'id_token_signin' | 'token-exchange'
  /** Binds the token to this key, and requests a lease if the project has leases. */
  readonly key?: ProofKey
}

/** Signs a DPoP proof for one request. */
export type Prove = (nonce: string | undefined) => string

export interface IdentityClient {
  /** Exchanges a developer ID token and an edge ID token for an access token. @throws OAuthFailure | ConnectionFailure */
  exchange(input: Exchange, options?: CallOptions): Promise<TokenResponse>
  /** Gets an edge ID token for the node that signs the proof. @throws OAuthFailure | ConnectionFailure */
  edgeToken(prove: Prove, options?: CallOptions): Promise<EdgeTokenResponse>
  /** Whether the HMAC code of another node is valid. @throws OAuthFailure | ConnectionFailure */
  verifyHmac(
    code: { edgeHmacCode: string; nodeId: string; uri: string },
    edgeIdToken: string,
    prove: Prove,
    options?: CallOptions,
  ): Promise<VerifyHmacResponse>
  /** Gets new tokens for a sign-in. Each call returns a new refresh token. @throws OAuthFailure | ConnectionFailure */
  refresh(
    input: { clientId: string; refreshToken: string; scope?: string; key?: ProofKey },
    options?: CallOptions,
  ): Promise<TokenResponse>
  /** Starts a sign-in that a person approves in a browser (RFC 8628 § 3.1). @throws OAuthFailure | ConnectionFailure */
  authorizeDevice(
    input: { clientId: string; scope: string },
    options?: CallOptions,
  ): Promise<DeviceAuthorizationResponse>
  /** Polls once whether the sign-in was approved (RFC 8628 § 3.4). @throws OAuthFailure `authorization_pending`, `slow_down`, … */
  redeemDevice(input: { clientId: string; deviceCode: string }, options?: CallOptions): Promise<TokenResponse>
  /** Revokes a token (RFC 7009). @throws OAuthFailure | ConnectionFailure */
  revoke(input: { clientId: string; token: string }, options?: CallOptions): Promise<void>
  /**
   * Gets the signed list of revoked tokens.
   *
   * @param held what is held already: the `seq` and `mark` of a list, to get what changed since; or an ETag, to get the whole
   *   list unless it is that one
   * @throws OAuthFailure | ConnectionFailure
   */
  revocations(
    held?: string | { readonly seq: number; readonly mark: string },
    options?: CallOptions,
  ): Promise<{ token: string; etag: string } | 'unchanged'>
  /** Any JSON document of the service, such as its metadata or its keys. @throws ConnectionFailure */
  getJson(path: string, options?: CallOptions): Promise<unknown>
}

/**
 * A client of the identity service for devices and their developers.
 *
 * @example
 * ```ts
 * import { createIdentityClient, createRuntimeClient } from '@selvedge/client'
 *
 * const { id_token: edgeIdToken } = await createRuntimeClient({ url: 'http://127.0.0.1:8083' }).getEdgeIdToken()
 * const identity = createIdentityClient({ url: 'http://localhost:8084' })
 * const { access_token, expires_in } = await identity.exchange({
 *   clientId: process.env.CLIENT_ID!,
 *   developerIdToken: process.env.DEVELOPER_ID_TOKEN!,
 *   edgeIdToken,
 *   scope: 'openid edge:mcm',
 * })
 * console.log(access_token.length, expires_in)
 * ```
 */
export function createIdentityClient(connection: Connection): IdentityClient {
  expectUrl(connection)
  const nonces: { current: string | undefined } = { current: undefined }
  const { url } = connection

  const { post, requestToken } = createFormRequests(connection, nonces)

  return {
    exchange: (input, options) => requestToken(exchangeForm(input), options, input.key),
    refresh: ({ clientId, refreshToken, scope, key }, options) =>
      requestToken(
        {
          grant_type: grantTypes.refreshToken,
          client_id: clientId,
          refresh_token: refreshToken,
          ...(scope !== undefined && { scope }),
        },
        options,
        key,
      ),
    redeemDevice: ({ clientId, deviceCode }, options) =>
      requestToken(
        { grant_type: grantTypes.deviceCode, client_id: clientId, device_code: deviceCode },
        options,
      ),
    async authorizeDevice({ clientId, scope }, options) {
      const answer = await post(identityPaths.deviceAuthorization, { client_id: clientId, scope }, options)
      return read(url, deviceAuthorizationResponse, answer)
    },
    async revoke({ clientId, token }, options) {
      await post(identityPaths.revoke, { client_id: clientId, token }, options)
    },
    async revocations(held, options) {
      const headers = typeof held === 'string' ? { 'If-None-Match': held } : {}
      const query = typeof held === 'object' ? `?since=${held.seq}&mark=${encodeURIComponent(held.mark)}` : ''
      const path = identityPaths.revocations + query
      const reply = await send(connection, { method: 'GET', path, headers }, options)
      if (reply.status === 304) return 'unchanged'
      successOf(url, reply)
      return { token: reply.text, etag: reply.header('etag') ?? '' }
    },
    async edgeToken(prove, options) {
      const reply = await sendWithProof(nonces, prove, (proof) =>
        send(
          connection,
          {
            ...{ method: 'POST', path: identityPaths.edgeToken, isRepeatable: true },
            headers: () => ({ DPoP: proof() }),
          },
          options,
        ),
      )
      return read(url, edgeTokenResponse, successOf(url, reply))
    },
    async verifyHmac(code, edgeIdToken, prove, options) {
      const body = JSON.stringify(code)
      const reply = await sendWithProof(nonces, prove, (proof) => {
        const headers = () => ({
          'Content-Type': 'application/json',
          Authorization: `DPoP ${edgeIdToken}`,
          DPoP: proof(),
        })
        return send(connection, { method: 'POST', path: identityPaths.verifyHmac, headers, body }, options)
      })
      return read(url, verifyHmacResponse, successOf(url, reply))
    },
    async getJson(path, options) {
      return successOf(url, await send(connection, { method: 'GET', path }, options))
    },
  }
}

/** Requests with forms. @param nonces remembers the newest nonce of the service */
function createFormRequests(connection: Connection, nonces: { current: string | undefined }) {
  const { url } = connection

  async function post(path: string, form: Record<string, string>, options?: CallOptions): Promise<unknown> {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
    const body = new URLSearchParams(form).toString()
    return successOf(url, await send(connection, { method: 'POST', path, headers, body }, options))
  }

  async function requestToken(
    form: Record<string, string>,
    options?: CallOptions,
    key?: ProofKey,
  ): Promise<TokenResponse> {
    if (!key) return read(url, tokenResponse, await post(identityPaths.token, form, options))
    const body = new URLSearchParams(form).toString()
    const prove = (nonce: string | undefined) =>
      key.prove({ method: 'POST', url: url + identityPaths.token, nonce })
    const reply = await sendWithProof(nonces, prove, (proof) => {
      const headers = async () => ({
        'Content-Type': 'application/x-www-form-urlencoded',
        DPoP: await proof(),
      })
      return send(connection, { method: 'POST', path: identityPaths.token, headers, body }, options)
    })
    return read(url, tokenResponse, successOf(url, reply))
  }

  return { post, requestToken }
}

function exchangeForm({
  clientId,
  developerIdToken,
  edgeIdToken,
  scope,
  resource,
  grant,
}: Exchange): Record<string, string> {
  const shared = { client_id: clientId, scope, ...(resource !== undefined && { resource }) }
  if (grant !== 'token-exchange') {
    return {
      ...shared,
      grant_type: grantTypes.idTokenSignin,
      id_token: developerIdToken,
      edge_id_token: edgeIdToken,
    }
  }
  return {
    ...shared,
    grant_type: grantTypes.tokenExchange,
    subject_token: developerIdToken,
    subject_token_type: tokenTypes.idToken,
    actor_token: edgeIdToken,
    actor_token_type: tokenTypes.idToken,
  }
}
