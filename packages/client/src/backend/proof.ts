import {
  describeKind,
  dpopType,
  type JsonObject,
  parseJws,
  publicJwk,
  thumbprintInput,
} from '@selvedge/protocol/tokens'

/** The request that a bound token came with. */
export interface ProvenRequest {
  readonly method: string
  /** Whole URL as the caller knows it; query and fragment do not count. */
  readonly url: string
  /** The DPoP header; undefined where it is missing. */
  readonly proof: string | null | undefined
}

/** Seconds by which the clock of a caller may differ. A backend gives no nonces, so the proof's own time has to do. */
const tolerance = 60
/** Most proofs that are remembered against replay. */
const remembered = 10_000

export interface ProofChecker {
  /** What is wrong with a proof; undefined where it is good, and used up by that (RFC 9449 § 4.3). */
  problemOf(token: string, jkt: string, request: ProvenRequest | undefined): Promise<string | undefined>
}

/** @param now Unix milliseconds */
export function createProofChecker(now: () => number): ProofChecker {
  const used = new Map<string, number>()

  /** Whether a proof was used before; from now on it was. */
  function isReplay(key: string): boolean {
    const time = now() / 1000
    for (const [known, end] of used) {
      if (end > time && used.size < remembered) break
      used.delete(known)
    }
    if (used.has(key)) return true
    used.set(key, time + 2 * tolerance)
    return false
  }

  async function check(
    token: string,
    jkt: string,
    { method, url, proof }: ProvenRequest,
  ): Promise<string | undefined> {
    if (!proof) return 'the token is bound to a key, and the request has no DPoP header'
    const { header, payload, signingInput, signature } = parseJws(proof)
    const found = header.typ === dpopType ? undefined : describeKind(proof)
    if (found !== undefined) return `this is ${found}; the DPoP header needs a DPoP proof`
    const jwk = publicJwk.safeParse(header.jwk)
    if (
      header.typ !== dpopType ||
      header.alg !== 'ES256' ||
      Object.hasOwn(header, 'crit') ||
      !jwk.success ||
      'd' in (header.jwk as JsonObject)
    )
      return 'the header of the proof is not that of a DPoP proof by a P-256 key'
    if ((await digest(thumbprintInput(jwk.data))) !== jkt)
      return 'the proof is by another key than the token is bound to'
    const { kty, crv, x, y } = jwk.data
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
    const key = await crypto.subtle.importKey('jwk', { kty, crv, x, y }, algorithm, false, ['verify'])
    const data = new TextEncoder().encode(signingInput)
    if (!(await crypto.subtle.verify(algorithm, key, signature, data)))
      return 'the signature of the proof is not of its key'
    const { origin, pathname } = new URL(url)
    if (payload.htm !== method || payload.htu !== origin + pathname)
      return `the proof is for ${payload.htm} ${payload.htu}; the request is ${method} ${origin}${pathname}`
    if (typeof payload.iat !== 'number' || Math.abs(now() / 1000 - payload.iat) > tolerance)
      return 'the proof is not of this minute'
    if (payload.ath !== (await digest(token))) return 'the proof is for another token'
    if (typeof payload.jti !== 'string' || payload.jti === '' || payload.jti.length > 256)
      return 'the proof has no "jti"'
    return isReplay(`${jkt} ${payload.jti}`) ? 'the proof was used before' : undefined
  }

  return {
    async problemOf(token, jkt, request) {
      if (!request) return 'the token is bound to a key: give the request that it came with'
      try {
        return await check(token, jkt, request)
      } catch (cause) {
        return `the proof can't be read: ${(cause as Error).message.replaceAll('token', 'proof')}`
      }
    },
  }
}

/** SHA-256 in base64url. */
async function digest(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
