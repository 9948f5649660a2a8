/** Local tokens: what a runtime issues for a lease while it cannot reach its identity service. */
import { type TokenResponse, tokenResponse } from '@selvedge/protocol'
import { jwtBearerGrant, localTokenPath } from '@selvedge/protocol/tokens'
import { ConnectionFailure } from './errors.ts'
import { read, sendWithProof, successOf } from './oauth.ts'
import type { ProofKey } from './proof-key.ts'
import { type CallOptions, type Connection, send } from './send.ts'

export interface LeaseExchange {
  readonly lease: string
  /** The key that the lease is bound to. */
  readonly key: ProofKey
  /** The `offline.tokenEndpoint` of `getMe`: the proof names it, however the request is sent. */
  readonly tokenEndpoint: string
}

/**
 * Exchanges a lease at the runtime of its node (RFC 7523).
 *
 * @throws OAuthFailure while the runtime reaches its identity service, and if it refuses the lease; ConnectionFailure
 *
 * @example
 * ```ts
 * import { createProofKey, createRuntimeClient, exchangeLease } from '@selvedge/client'
 *
 * const runtime = { url: 'http://127.0.0.1:8083' }
 * const { offline } = await createRuntimeClient(runtime).getMe()
 * const key = await createProofKey(JSON.parse(process.env.PROOF_KEY!))
 * const lease = process.env.LEASE!
 * const { access_token } = await exchangeLease(runtime, { lease, key, tokenEndpoint: offline.tokenEndpoint })
 * console.log(access_token.length)
 * ```
 */
export async function exchangeLease(
  connection: Connection,
  { lease, key, tokenEndpoint }: LeaseExchange,
  options?: CallOptions,
): Promise<TokenResponse> {
  expectLoopback(tokenEndpoint)
  const body = new URLSearchParams({ grant_type: jwtBearerGrant, assertion: lease }).toString()
  const prove = (nonce: string | undefined) => key.prove({ method: 'POST', url: tokenEndpoint, nonce })
  const reply = await sendWithProof({ current: undefined }, prove, (proof) =>
    send(
      connection,
      {
        method: 'POST',
        path: localTokenPath,
        headers: async () => ({
          'Content-Type': 'application/x-www-form-urlencoded',
          DPoP: await proof(),
        }),
        body,
      },
      options,
    ),
  )
  return read(connection.url, tokenResponse, successOf(connection.url, reply))
}

/** A runtime names the URL that a proof is for: no proof for another service may come of it. @throws ConnectionFailure `bad_answer` */
function expectLoopback(tokenEndpoint: string): void {
  if (/^https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?\/token$/.test(tokenEndpoint)) return
  const shown = JSON.stringify(String(tokenEndpoint).slice(0, 200))
  throw new ConnectionFailure(
    'bad_answer',
    `the runtime names ${shown} as its token endpoint, which is not its own`,
  )
}

/** Seconds for which a nonce of a runtime is used; it accepts one for two minutes. */
const nonceSeconds = 60

/** Gives nonces of a runtime: each answer of its token endpoint has one, also to a request without a form. */
export function createNonceSource(connection: Connection): () => Promise<string | undefined> {
  let nonce: string | undefined
  let gotAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (performance.now() - gotAt < nonceSeconds * 1000) return nonce
    const reply = await send(connection, { method: 'POST', path: localTokenPath })
    nonce = reply.header('dpop-nonce') ?? undefined
    gotAt = performance.now()
    return nonce
  }
}
