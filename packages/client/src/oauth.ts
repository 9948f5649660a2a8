import { oauthErrorResponse } from '@selvedge/protocol'
import { ConnectionFailure, isOAuthErrorCode, OAuthFailure } from './errors.ts'
import type { Reply } from './send.ts'

/** The body of a successful response. @throws OAuthFailure | ConnectionFailure */
export function successOf(url: string, { status, json }: Reply): unknown {
  if (status >= 200 && status < 300) return json
  const refusal = oauthErrorResponse.safeParse(json)
  if (refusal.success && isOAuthErrorCode(refusal.data.error)) {
    throw new OAuthFailure(refusal.data.error, refusal.data.error_description ?? refusal.data.error, status)
  }
  throw new ConnectionFailure('refused', `${url} answered HTTP ${status}`)
}

/**
 * Sends a request that needs a DPoP proof; if the service requires its nonce, it sends the request once more with it (RFC 9449 §
 * 8).
 *
 * @param nonces remembers the newest nonce of the service between calls
 * @param request gets what makes a proof, for each time that the request is sent: a service that could not store the change has
 *   accepted the proof already
 */
export async function sendWithProof<Proof extends string | Promise<string>>(
  nonces: { current: string | undefined },
  prove: (nonce: string | undefined) => Proof,
  request: (proof: () => Proof) => Promise<Reply>,
): Promise<Reply> {
  const attempt = async () => {
    const reply = await request(() => prove(nonces.current))
    nonces.current = reply.header('dpop-nonce') ?? nonces.current
    return reply
  }
  const reply = await attempt()
  const { error } = (reply.json ?? {}) as { error?: string }
  return error === 'use_dpop_nonce' ? attempt() : reply
}

/** @throws ConnectionFailure `bad_answer` */
export function read<T>(
  url: string,
  schema: { safeParse(value: unknown): { success: true; data: T } | { success: false } },
  value: unknown,
): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new ConnectionFailure('bad_answer', `${url} sent a response with an unexpected shape`)
}
