/** Proofs of the browser's key (DPoP, RFC 9449): one for each request, of its method, URL and body, with a nonce of the service. */
import type { BrowserKey } from './key.ts'

export interface ProvenRequest {
  readonly method: string
  /** Absolute; the query is not signed. */
  readonly url: URL
  readonly nonce: string | undefined
  readonly body: string | undefined
}

/** The value of the DPoP header. */
export async function createProof(
  { privateKey, jwk }: BrowserKey,
  { method, url, nonce, body }: ProvenRequest,
): Promise<string> {
  const header = { typ: 'dpop+jwt', alg: 'ES256', jwk }
  const claims = {
    jti: encode(crypto.getRandomValues(new Uint8Array(16))),
    htm: method,
    htu: url.origin + url.pathname,
    iat: Math.floor((performance.timeOrigin + performance.now()) / 1000),
    ...(nonce !== undefined && { nonce }),
    ...(body !== undefined && { bh: encode(await crypto.subtle.digest('SHA-256', bytesOf(body))) }),
  }
  const input = `${encode(bytesOf(JSON.stringify(header)))}.${encode(bytesOf(JSON.stringify(claims)))}`
  const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, bytesOf(input))
  return `${input}.${encode(signature)}`
}

const bytesOf = (text: string) => new TextEncoder().encode(text)

/** Base64url without padding (RFC 7515 § 2). */
const encode = (bytes: ArrayBuffer | Uint8Array): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
