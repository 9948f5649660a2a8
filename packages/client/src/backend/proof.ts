import {
  checkProofClaims,
  DpopError,
  encodeBase64url,
  openProof,
  type PublicJwk,
  thumbprintInput,
  UsedProofs,
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
const toleranceSeconds = 60
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

export interface ProofChecker {
  /**
   * Checks the proof of a request, and uses it up (RFC 9449 § 4.3).
   *
   * @param jkt thumbprint of the key that the token is bound to
   * @throws DpopError
   */
  check(token: string, jkt: string, request: ProvenRequest | undefined): Promise<void>
}

export function createProofChecker(options: {
  /** Unix milliseconds. */
  readonly now: () => number
  /** Milliseconds since any moment. */
  readonly monotonic: () => number
  /** Used proofs that are stored at most; of one key a tenth of them. */
  readonly max: number
}): ProofChecker {
  const { now, monotonic, max } = options
  // A proof may be of a minute ahead, and is valid for a minute after its time.
  const used = new UsedProofs({ lifeMs: 2 * toleranceSeconds * 1000, max, maxPerOwner: Math.ceil(max / 10) })

  return {
    async check(token, jkt, request) {
      if (!request) throw invalid('the token is bound to a key: give the request that it came with')
      const { method, url, proof } = request
      if (!proof) throw invalid('the token is bound to a key, and the request has no DPoP header')
      const { jwk, jws } = openProof(proof)
      if ((await digest(thumbprintInput(jwk))) !== jkt)
        throw invalid('the proof is by another key than the token is bound to')
      const data = new TextEncoder().encode(jws.signingInput)
      if (!(await crypto.subtle.verify(algorithm, await importKey(jwk), jws.signature, data)))
        throw invalid('the signature of the proof is not of its key')
      const { origin, pathname } = new URL(url)
      const seconds = now() / 1000
      const target = { htm: method, htu: origin + pathname, ath: await digest(token), now: seconds }
      const { jti, iat } = checkProofClaims(jws.payload, target)
      if (!(Math.abs(seconds - iat) <= toleranceSeconds)) throw invalid('the proof is not of this minute')
      used.use(jkt, jti, monotonic())
    },
  }
}

const invalid = (message: string): DpopError => new DpopError('invalid_dpop_proof', message)

/** @throws DpopError if it is no point of the curve */
const importKey = ({ kty, crv, x, y }: PublicJwk) =>
  crypto.subtle.importKey('jwk', { kty, crv, x, y }, algorithm, false, ['verify']).catch(() => {
    throw invalid('the key of the proof is no point of P-256')
  })

/** SHA-256 in base64url. */
const digest = async (text: string): Promise<string> =>
  encodeBase64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))))
