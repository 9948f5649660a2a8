import {
  type AccessClaims,
  accessProfile,
  checkClaims,
  DpopError,
  edgeAudience,
  hasScope,
  type Jws,
  leeway,
  openToken,
  readAuthorization,
  schemeProblem,
  TokenError,
  type TokenProblem,
} from '@selvedge/protocol/tokens'
import { createIssuerKeys, type VerificationKey } from './issuer-keys.ts'
import { createProofChecker, type ProvenRequest } from './proof.ts'

/** HTTP statuses of refusals; of all others: 401. */
const statuses: Readonly<Record<string, number>> = {
  insufficient_scope: 403,
  identity_unavailable: 503,
  busy: 503,
}

/** Why a request is refused, ready for its answer (RFC 6750 § 3). */
export class AccessTokenError extends Error {
  override readonly name = 'AccessTokenError'
  readonly reason:
    | TokenProblem
    | 'insufficient_scope'
    | 'identity_unavailable'
    | 'invalid_dpop_proof'
    | 'busy'
  /** 401, 403 or 503. */
  readonly status: number
  constructor(reason: AccessTokenError['reason'], message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.reason = reason
    this.status = statuses[reason] ?? 401
  }
  /** Value of the WWW-Authenticate header; undefined where the fault is not the caller's. */
  get wwwAuthenticate(): string | undefined {
    if (this.status === 503) return undefined
    if (this.reason === 'token_missing') return 'Bearer'
    if (this.reason === 'invalid_dpop_proof') return 'DPoP error="invalid_dpop_proof", algs="ES256"'
    const error = this.status === 403 ? 'insufficient_scope' : 'invalid_token'
    return `Bearer error="${error}", error_description="${this.message.replaceAll(/["\\]|[^\x20-\x7e]/g, "'")}"`
  }
}

export interface AccessTokenVerifierOptions {
  /**
   * URL of the identity service, exactly as in the claim `iss` of its tokens: http or https, without query and fragment (RFC
   * 8414).
   */
  readonly issuer: string
  /** The resource that tokens must be meant for. Default: the edge itself. */
  readonly audience?: string
  /** Scopes that every token must hold, separated by spaces. */
  readonly scope?: string
  readonly fetch?: typeof globalThis.fetch
  /** Unix milliseconds. */
  readonly now?: () => number
  /** Milliseconds since any moment. */
  readonly monotonic?: () => number
  /**
   * Maximum number of used DPoP proofs in memory (replay protection), each for two minutes. When it is reached, requests with a
   * proof are refused
   * (503, `busy`). One key may use a tenth of them. Default 200,000, or 1600 requests a second. Processes that serve
   * one address have to share their proofs in another way: this memory is of one process.
   */
  readonly maxProofs?: number
}

export interface AccessTokenVerifier {
  /**
   * Verifies an access token completely.
   *
   * @param token the token, or a whole Authorization header
   * @param request the request with the token; required for tokens that are bound to a key (RFC 9449)
   * @throws AccessTokenError
   */
  verify(token: string | undefined, request?: ProvenRequest): Promise<AccessClaims>
}

interface Verified {
  readonly claims: AccessClaims
  readonly kid: string
  readonly key: VerificationKey
}

/** Maximum number of cached verified tokens. */
const remembered = 1000

/**
 * For backend services that trust edge access tokens: RFC 9068 validation with the issuer's published keys, which are fetched
 * when first needed, again every ten minutes, and when a token names a key that is not known yet. While the issuer is slow or
 * unavailable, cached keys are used for up to a day, and requests do not wait for new ones. Revocations are not known here:
 * ask the introspection endpoint where a token must end at once.
 *
 * @throws TypeError if the issuer is not such a URL
 *
 * @example
 * ```ts
 * import { createAccessTokenVerifier } from '@selvedge/client/backend'
 *
 * const verifier = createAccessTokenVerifier({ issuer: 'http://localhost:8084' })
 * const { account_id } = await verifier.verify(`Bearer ${process.env.ACCESS_TOKEN}`)
 * console.log(account_id)
 * ```
 */
export function createAccessTokenVerifier(options: AccessTokenVerifierOptions): AccessTokenVerifier {
  const { audience = edgeAudience, scope = '', now = Date.now, fetch = globalThis.fetch } = options
  const issuer = expectIssuer(options.issuer)
  const keys = createIssuerKeys({ issuer, fetch, now })
  const monotonic = options.monotonic ?? (() => performance.now())
  const proofs = createProofChecker({ now, monotonic, max: options.maxProofs ?? 200_000 })
  const verified = new Map<string, Verified>()
  const needed = scope.split(' ').filter(Boolean)

  async function check(token: string): Promise<AccessClaims> {
    const known = verified.get(token)
    // What was verified counts while its issuer has the key.
    if (known && known.claims.exp + leeway > now() / 1000 && (await findKey(known.kid)) === known.key)
      return known.claims
    verified.delete(token)
    const { jws, iss, kid } = openToken(token, accessProfile)
    if (iss !== issuer) throw new TokenError('token_untrusted', `the issuer of the token is not ${issuer}`)
    const key = await findKey(kid)
    await checkSignature(jws, key)
    const claims = checkClaims(jws.payload, accessProfile, audience, now() / 1000)
    if (verified.size >= remembered) verified.delete(verified.keys().next().value!)
    verified.set(token, { claims, kid, key })
    return claims
  }

  async function findKey(kid: string): Promise<VerificationKey> {
    const key = await keys.find(kid).catch((cause) => {
      throw new AccessTokenError('identity_unavailable', `the keys of ${issuer} could not be fetched`, {
        cause,
      })
    })
    if (!key) throw new TokenError('token_untrusted', `the key of the token is not one of ${issuer}`)
    return key
  }

  async function checkSignature(jws: Jws, key: VerificationKey): Promise<void> {
    const data = new TextEncoder().encode(jws.signingInput)
    if (!(await crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, jws.signature, data))) {
      throw new TokenError('token_untrusted', 'the signature of the token is not that of its issuer')
    }
  }

  return {
    async verify(given = '', request) {
      try {
        const { scheme, token } = readAuthorization(given) ?? { scheme: undefined, token: given }
        const claims = await check(token)
        const problem = schemeProblem(scheme, claims)
        if (problem !== undefined) throw new AccessTokenError('invalid_dpop_proof', problem)
        if (claims.cnf) await proofs.check(token, claims.cnf.jkt, request)
        const missing = needed.filter((each) => !hasScope(claims.scope, each))
        if (missing.length > 0)
          throw new AccessTokenError('insufficient_scope', `the token lacks the scope ${missing.join(' ')}`)
        return claims
      } catch (cause) {
        if (cause instanceof TokenError) throw new AccessTokenError(cause.reason, cause.message, { cause })
        if (cause instanceof DpopError) throw new AccessTokenError(reasonOf(cause), cause.message, { cause })
        throw cause
      }
    },
  }
}

/** A backend neither issues nor requires nonces. */
const reasonOf = ({ code }: DpopError): 'busy' | 'invalid_dpop_proof' =>
  code === 'busy' ? code : 'invalid_dpop_proof'

function expectIssuer(issuer: string): string {
  if (URL.canParse(issuer) && /^https?:\/\/[^?#]+$/i.test(issuer)) return issuer
  throw new TypeError(
    `the issuer is ${JSON.stringify(issuer)}; expected the URL of the identity service, such as https://identity.example.com`,
  )
}
