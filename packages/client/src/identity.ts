import {
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
import { ConnectionFailure } from './errors.ts'
import { sendWithProof, successOf } from './oauth.ts'
import { type CallOptions, type Connection, send } from './send.ts'

export interface Exchange {
  readonly clientId: string
  readonly developerIdToken: string
  readonly edgeIdToken: string
  readonly scope: string
  /** Resources beside the edge itself that the token is for (RFC 8707). */
  readonly resource?: string
  /** The words of the request: the family's own, or those of RFC 8693. Both give equal tokens. Default `id_token_signin`. */
  readonly grant?: 'id_token_signin' | 'token-exchange'
}

/** A signer of DPoP proofs for one request. */
export type Prove = (nonce: string | undefined) => string

export interface IdentityClient {
  /** Developer ID token and edge ID token in, access token out. @throws OAuthFailure | ConnectionFailure */
  exchange(input: Exchange, options?: CallOptions): Promise<TokenResponse>
  /** An edge ID token for the node whose key signs. @throws OAuthFailure | ConnectionFailure */
  edgeToken(prove: Prove, options?: CallOptions): Promise<EdgeTokenResponse>
  /** Whether the HMAC code of another node is good. @throws OAuthFailure | ConnectionFailure */
  verifyHmac(
    code: { edgeHmacCode: string; nodeId: string; uri: string },
    edgeIdToken: string,
    prove: Prove,
    options?: CallOptions,
  ): Promise<VerifyHmacResponse>
  /** Any JSON document of the service, such as its metadata or its keys. @throws ConnectionFailure */
  getJson(path: string, options?: CallOptions): Promise<unknown>
}

/** The identity service, as devices and their developers see it. */
export function createIdentityClient(connection: Connection): IdentityClient {
  const nonces: { current: string | undefined } = { current: undefined }
  const { url } = connection
  return {
    async exchange(input, options) {
      const form = new URLSearchParams(exchangeForm(input)).toString()
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
      const reply = await send(
        connection,
        { method: 'POST', path: identityPaths.token, headers, body: form },
        options,
      )
      return read(url, tokenResponse, successOf(url, reply))
    },
    async edgeToken(prove, options) {
      const reply = await sendWithProof(nonces, prove, (proof) =>
        send(
          connection,
          { method: 'POST', path: identityPaths.edgeToken, headers: { DPoP: proof } },
          options,
        ),
      )
      return read(url, edgeTokenResponse, successOf(url, reply))
    },
    async verifyHmac(code, edgeIdToken, prove, options) {
      const body = JSON.stringify(code)
      const reply = await sendWithProof(nonces, prove, (proof) => {
        const headers = {
          'Content-Type': 'application/json',
          Authorization: `DPoP ${edgeIdToken}`,
          DPoP: proof,
        }
        return send(connection, { method: 'POST', path: identityPaths.verifyHmac, headers, body }, options)
      })
      return read(url, verifyHmacResponse, successOf(url, reply))
    },
    async getJson(path, options) {
      return successOf(url, await send(connection, { method: 'GET', path }, options))
    },
  }
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

/** @throws ConnectionFailure `bad_answer` */
export function read<T>(
  url: string,
  schema: { safeParse(value: unknown): { success: true; data: T } | { success: false } },
  value: unknown,
): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new ConnectionFailure('bad_answer', `${url} sent an answer of another shape than agreed`)
}
