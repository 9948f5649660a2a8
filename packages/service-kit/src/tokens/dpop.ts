/** DPoP (RFC 9449): proofs that the sender of a request holds a key. Made by nodes, checked by the services. */
import { createHmac, hash, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import {
  type DpopClaims,
  describeKind,
  dpopType,
  type NodeStatement,
  nodeStatement,
  type PublicJwk,
  parseJws,
  publicJwk,
} from '@selvedge/protocol/tokens'
import { type Clock, seconds } from '../clock/clock.ts'
import { verifyEs256 } from './es256.ts'
import { createKeyCache } from './key-cache.ts'
import { signJws } from './sign.ts'

export interface ProofInput {
  readonly key: KeyObject
  readonly jwk: PublicJwk
  readonly htm: string
  /** URL of the request without query and fragment. */
  readonly htu: string
  readonly clock: Clock
  readonly nonce?: string | undefined
  /** Token that the request shows. */
  readonly accessToken?: string
  readonly node?: NodeStatement
  /** Body of the request, where the proof is to cover it. */
  readonly body?: string
}

const hashOf = (text: string): string => hash('sha256', text, 'base64url')

export function createProof({
  key,
  jwk,
  htm,
  htu,
  clock,
  nonce,
  accessToken,
  node,
  body,
}: ProofInput): string {
  const claims: DpopClaims = {
    jti: randomBytes(16).toString('base64url'),
    htm,
    htu,
    iat: seconds(clock),
    ...(nonce !== undefined && { nonce }),
    ...(accessToken !== undefined && { ath: hashOf(accessToken) }),
    ...(node && { node }),
    ...(body !== undefined && { bh: hashOf(body) }),
  }
  return signJws({ typ: dpopType, jwk: { kty: jwk.kty, crv: jwk.crv, x: jwk.x, y: jwk.y } }, claims, key)
}

/** A refused proof. `nonce`: the caller is to repeat the request with a nonce of the server. */
export class DpopError extends Error {
  override readonly name = 'DpopError'
  readonly code: 'use_dpop_nonce' | 'invalid_dpop_proof'
  constructor(code: 'use_dpop_nonce' | 'invalid_dpop_proof', message: string) {
    super(message)
    this.code = code
  }
}

/** Seconds for which a nonce of the server is good. */
const nonceLife = 120
/** Most proofs that are remembered against replay; beyond it the oldest are forgotten with their nonce's life nearly over. */
const maxProofs = 200_000

export interface VerifiedProof {
  readonly jwk: PublicJwk
  readonly jkt: string
  readonly node: NodeStatement | undefined
}

export interface DpopVerifier {
  /** A fresh nonce for the DPoP-Nonce header. */
  nonce(): string
  /**
   * Checks the proof of one request and uses it up.
   *
   * @param request.body where the proof must cover it
   * @throws DpopError
   */
  verify(
    proof: string,
    request: { htm: string; htu: string; accessToken?: string; body?: string },
  ): VerifiedProof
}

/**
 * The nonce is the server's clock under its own seal, so that freshness does not depend on the clock of the device and
 * nothing has to be stored for it.
 *
 * @param secret shared by the replicas of a service
 */
export function createDpopVerifier(secret: Uint8Array, clock: Clock): DpopVerifier {
  const findKey = createKeyCache(10_000)
  const used = new Map<string, number>()

  const seal = (time: string) =>
    createHmac('sha256', secret).update(`dpop-nonce ${time}`).digest('base64url').slice(0, 22)
  const nonce = () => {
    const time = seconds(clock).toString(36)
    return `${time}.${seal(time)}`
  }
  const isFresh = (text: string): boolean => {
    const [time = '', mac = ''] = text.split('.', 2)
    // Compared as bytes: characters of a forged one may take several.
    const [given, expected] = [Buffer.from(mac), Buffer.from(seal(time))]
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false
    const age = seconds(clock) - Number.parseInt(time, 36)
    return age >= 0 && age <= nonceLife
  }

  function useUp(jti: string, jkt: string): void {
    const now = seconds(clock)
    for (const [key, end] of used) {
      if (end >= now && used.size < maxProofs) break
      used.delete(key)
    }
    const key = `${jkt} ${jti}`
    if (used.has(key)) throw new DpopError('invalid_dpop_proof', 'the proof was used before')
    used.set(key, now + nonceLife)
  }

  return {
    nonce,
    verify(proof, { htm, htu, accessToken, body }) {
      const { header, payload, signingInput, signature } = parseProof(proof)
      const jwk = publicJwk.safeParse(header.jwk)
      if (header.typ !== dpopType) throw new DpopError('invalid_dpop_proof', otherKind(proof))
      if (header.alg !== 'ES256')
        throw new DpopError('invalid_dpop_proof', 'the algorithm of the proof is not ES256')
      if (Object.hasOwn(header, 'crit'))
        throw new DpopError('invalid_dpop_proof', 'the proof has critical extensions')
      if (!jwk.success || Object.hasOwn(header.jwk as object, 'd')) {
        throw new DpopError('invalid_dpop_proof', 'the header "jwk" of the proof is not a public P-256 key')
      }
      const { key, jkt } = importKey(findKey, jwk.data)
      if (!verifyEs256(key, signingInput, signature))
        throw new DpopError('invalid_dpop_proof', 'the signature of the proof is not of its key')
      const { jti, nonce: given, node, ath, bh } = payload
      if (payload.htm !== htm || payload.htu !== htu) {
        throw new DpopError(
          'invalid_dpop_proof',
          `the proof is for ${shown(payload.htm)} ${shown(payload.htu)}; the request is ${htm} ${htu}`,
        )
      }
      if (typeof jti !== 'string' || jti === '' || jti.length > 256)
        throw new DpopError('invalid_dpop_proof', 'claim "jti" of the proof is not a short string')
      if (typeof payload.iat !== 'number')
        throw new DpopError('invalid_dpop_proof', 'claim "iat" of the proof is not a number')
      if (typeof given !== 'string' || !isFresh(given)) {
        throw new DpopError('use_dpop_nonce', 'repeat the request with the nonce of the DPoP-Nonce header')
      }
      if (accessToken !== undefined && ath !== hashOf(accessToken)) {
        throw new DpopError('invalid_dpop_proof', 'the proof is for another token')
      }
      if (body !== undefined && bh !== hashOf(body))
        throw new DpopError('invalid_dpop_proof', 'the proof is for another body')
      const statement = node === undefined ? undefined : nodeStatement.safeParse(node)
      if (statement && !statement.success) {
        const issue = statement.error.issues[0]
        throw new DpopError(
          'invalid_dpop_proof',
          `claim "node.${issue?.path.join('.')}" of the proof: ${issue?.message}`,
        )
      }
      useUp(jti, jkt)
      return { jwk: jwk.data, jkt, node: statement?.data }
    },
  }
}

/** A claim in a message: JSON, since an object may not become a text in any other way. */
const shown = (claim: unknown): string =>
  typeof claim === 'string' ? claim.slice(0, 300) : (JSON.stringify(claim) ?? 'nothing').slice(0, 300)

function parseProof(proof: string) {
  try {
    return parseJws(proof)
  } catch (cause) {
    const named = describeKind(proof) !== undefined
    const message = (cause as Error).message.replaceAll('token', 'proof')
    throw new DpopError('invalid_dpop_proof', named ? otherKind(proof) : message)
  }
}

function otherKind(proof: string): string {
  const found = describeKind(proof)
  if (found === undefined) return `the type of the proof is not ${dpopType}`
  return `this is ${found}; the DPoP header needs a DPoP proof`
}

function importKey(findKey: ReturnType<typeof createKeyCache>, jwk: PublicJwk) {
  try {
    return findKey(jwk)
  } catch {
    throw new DpopError('invalid_dpop_proof', 'the header "jwk" of the proof is not a point of P-256')
  }
}
