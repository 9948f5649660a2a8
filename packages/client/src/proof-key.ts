/** A key that tokens are bound to, and proofs of it for requests (DPoP, RFC 9449). */
import { dpopType, encodeBase64url, type PublicJwk, publicJwk } from '@selvedge/protocol/tokens'

/** One request, as a proof is about it. */
export interface ProofRequest {
  readonly method: string
  /** Whole URL; query and fragment do not count. */
  readonly url: string
  /** The last nonce of the service. */
  readonly nonce?: string | undefined
  /** The token that is sent with the request. */
  readonly accessToken?: string
}

/** A private key on P-256 (RFC 7518 § 6.2.2). */
export type PrivateJwk = PublicJwk & { readonly d: string }

export interface ProofKey {
  readonly jwk: PublicJwk
  /** Signs a proof. A service accepts each proof once. */
  prove(request: ProofRequest): Promise<string>
  /** The private key as a JWK, to store it where only this program can read it. */
  export(): Promise<PrivateJwk>
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const utf8 = new TextEncoder()

const encode = (value: object): string => encodeBase64url(utf8.encode(JSON.stringify(value)))

/**
 * Creates a key, or opens a stored one.
 *
 * @param stored the result of `export`
 * @param now Unix milliseconds
 * @throws Error if it is no private key on P-256
 *
 * @example
 * ```ts
 * import { createProofKey } from '@selvedge/client'
 *
 * const key = await createProofKey()
 * console.log(await key.prove({ method: 'POST', url: 'http://localhost:8084/token' }))
 * ```
 */
export async function createProofKey(stored?: PrivateJwk, now: () => number = Date.now): Promise<ProofKey> {
  const privateKey = stored
    ? await crypto.subtle.importKey('jwk', { ...stored }, algorithm, true, ['sign'])
    : (await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])).privateKey
  const whole = await crypto.subtle.exportKey('jwk', privateKey)
  const jwk = publicJwk.parse(whole)
  const header = encode({ typ: dpopType, alg: 'ES256', jwk })
  return {
    jwk,
    async prove({ method, url, nonce, accessToken }) {
      const { origin, pathname } = new URL(url)
      const claims = {
        jti: crypto.randomUUID(),
        htm: method,
        htu: origin + pathname,
        iat: Math.floor(now() / 1000),
        ...(nonce !== undefined && { nonce }),
        ...(accessToken !== undefined && { ath: await digest(accessToken) }),
      }
      const input = `${header}.${encode(claims)}`
      const signature = await crypto.subtle.sign(algorithm, privateKey, utf8.encode(input))
      return `${input}.${encodeBase64url(new Uint8Array(signature))}`
    },
    export: async () => ({ ...jwk, d: String(whole.d) }),
  }
}

const digest = async (text: string): Promise<string> =>
  encodeBase64url(new Uint8Array(await crypto.subtle.digest('SHA-256', utf8.encode(text))))
