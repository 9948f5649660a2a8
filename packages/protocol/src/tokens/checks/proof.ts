/** DPoP proofs (RFC 9449 § 4.3): every check that needs no key and no memory. */
import { dpopType } from '../dpop.ts'
import { type PublicJwk, publicJwk } from '../jwk.ts'
import { type JsonObject, type Jws, parseJws } from '../jws.ts'
import { describeKind } from '../kinds.ts'
import { leeway } from './times.ts'

/** A refused proof. */
export class DpopError extends Error {
  override readonly name = 'DpopError'
  /** `use_dpop_nonce`: repeat the request with a nonce of the server. `busy`: nothing is wrong with the proof; try again later. */
  readonly code: 'use_dpop_nonce' | 'invalid_dpop_proof' | 'busy'
  constructor(code: DpopError['code'], message: string) {
    super(message)
    this.code = code
  }
}

const invalid = (message: string): DpopError => new DpopError('invalid_dpop_proof', message)

export interface OpenedProof {
  /** The key in the header. Whether the signature is of this key is for the caller to check. */
  readonly jwk: PublicJwk
  readonly jws: Jws
}

/**
 * Reads a proof up to its key.
 *
 * @throws DpopError
 */
export function openProof(proof: string): OpenedProof {
  const jws = parse(proof)
  const { typ, alg, jwk: shown } = jws.header
  if (typ !== dpopType) throw invalid(otherKind(proof))
  if (alg !== 'ES256') throw invalid('the algorithm of the proof is not ES256')
  if (Object.hasOwn(jws.header, 'crit')) throw invalid('the proof has critical extensions')
  const jwk = publicJwk.safeParse(shown)
  if (!jwk.success || Object.hasOwn(shown as object, 'd'))
    throw invalid('the header "jwk" of the proof is not a public P-256 key')
  return { jwk: jwk.data, jws }
}

function parse(proof: string): Jws {
  try {
    return parseJws(proof)
  } catch (cause) {
    const named = describeKind(proof) !== undefined
    throw invalid(named ? otherKind(proof) : (cause as Error).message.replaceAll('token', 'proof'))
  }
}

function otherKind(proof: string): string {
  const found = describeKind(proof)
  if (found === undefined) return `the type of the proof is not ${dpopType}`
  return `this is ${found}; the DPoP header needs a DPoP proof`
}

/** What a proof must be about. */
export interface ProofTarget {
  readonly htm: string
  /** URL of the request without query and fragment. */
  readonly htu: string
  /** SHA-256 of the token of the request in base64url; undefined if the request has no token. */
  readonly ath: string | undefined
  /** Unix seconds. */
  readonly now: number
}

/**
 * Checks the claims of a proof with a verified signature. Whether `iat` is recent is for the caller to check, who may
 * have another proof of freshness: a nonce.
 *
 * @throws DpopError
 */
export function checkProofClaims(
  payload: JsonObject,
  { htm, htu, ath, now }: ProofTarget,
): { readonly jti: string; readonly iat: number } {
  if (payload.htm !== htm || payload.htu !== htu)
    throw invalid(
      `the proof is for ${shown(payload.htm)} ${shown(payload.htu)}; the request is ${htm} ${htu}`,
    )
  const { jti, iat, exp, nbf } = payload
  if (typeof jti !== 'string' || jti === '' || jti.length > 256)
    throw invalid('claim "jti" of the proof is not a short string')
  if (typeof iat !== 'number') throw invalid('claim "iat" of the proof is not a number')
  // The sender sets its expiry, so there is no leeway.
  if (exp !== undefined && !(typeof exp === 'number' && exp > now))
    throw invalid('the proof has expired: claim "exp" is in the past or no time')
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= now + leeway))
    throw invalid('the proof is not valid yet: claim "nbf" is in the future or no time')
  if (ath !== undefined && payload.ath !== ath) throw invalid('the proof is for another token')
  return { jti, iat }
}

/** A claim in a message: JSON, since an object may not become a text in any other way. */
const shown = (claim: unknown): string =>
  typeof claim === 'string' ? claim.slice(0, 300) : (JSON.stringify(claim) ?? 'nothing').slice(0, 300)
