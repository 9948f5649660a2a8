/** DPoP (RFC 9449): proofs that the sender of a request holds a key. Made by nodes, checked by the services. */
import { createHmac, createSecretKey, hash, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import {
  checkProofClaims,
  type DeviceVitals,
  type DpopClaims,
  DpopError,
  dpopType,
  type JoinClaim,
  type LeaseUse,
  type NodeStatement,
  nodeStatement,
  openProof,
  type PublicJwk,
  type StartClaim,
  UsedProofs,
} from '@selvedge/protocol/tokens'
import { type Clock, seconds } from '../clock/clock.ts'
import { verifyEs256 } from './es256.ts'
import { createKeyCache } from './key-cache.ts'
import { RecentMap } from './recent-map.ts'
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
  readonly vitals?: DeviceVitals | null | undefined
  readonly leases?: readonly LeaseUse[] | undefined
  readonly join?: JoinClaim | undefined
  readonly start?: StartClaim | undefined
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
  vitals,
  leases,
  join,
  start,
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
    ...(vitals !== undefined && { vitals }),
    ...(leases !== undefined && { leases }),
    ...(join !== undefined && { join }),
    ...(start !== undefined && { start }),
    ...(body !== undefined && { bh: hashOf(body) }),
  }
  return signJws({ typ: dpopType, jwk: { kty: jwk.kty, crv: jwk.crv, x: jwk.x, y: jwk.y } }, claims, key)
}

/** Seconds for which a nonce of the server is valid. */
const nonceSeconds = 120
/** A nonce counts whole seconds, so its last one is not over before another second. */
const proofLimits = { lifeMs: (nonceSeconds + 1) * 1000, max: 200_000, maxPerOwner: 50_000 }

export interface VerifiedProof {
  /** What is used up with the proof, as a hash, and the Unix second after which it is refused anyway. */
  readonly use: { readonly id: string; readonly endsAt: number }
  readonly jwk: PublicJwk
  readonly jkt: string
  readonly node: NodeStatement | undefined
  /** Claim `vitals`, not checked: of its own form only the receiver knows. */
  readonly vitals: unknown
  /** Claim `leases`, not checked. */
  readonly leases: unknown
  /** Claim `join`, not checked. */
  readonly join: unknown
  /** Claim `start`, not checked. */
  readonly start: unknown
}

export interface DpopVerifier {
  /** A fresh nonce for the DPoP-Nonce header. */
  nonce(): string
  /**
   * Checks the proof of one request and uses it up.
   *
   * @param request.body where the proof must cover it
   * @param request.owner account; its proofs are counted together; absent: the key is the owner
   * @throws DpopError
   */
  verify(
    proof: string,
    request: { htm: string; htu: string; accessToken?: string; body?: string; owner?: string },
  ): VerifiedProof
}

/**
 * The nonce is the server's clock under its own seal, so that freshness does not depend on the clock of the device and
 * nothing has to be stored for it.
 *
 * @param secret shared by the replicas of a service
 * @param monotonic milliseconds since any moment
 */
export function createDpopVerifier(
  secret: Uint8Array,
  clock: Clock,
  monotonic = () => performance.now(),
): DpopVerifier {
  const findKey = createKeyCache(10_000)
  const used = new UsedProofs(proofLimits)

  const key = createSecretKey(secret)
  /** Seals of the seconds that are in use: all callers of one second share a nonce. */
  const seals = new RecentMap<number, string>(nonceSeconds + 1)

  function seal(second: number): string {
    const known = seals.get(second)
    if (known !== undefined) return known
    const text = `dpop-nonce ${second.toString(36)}`
    const made = createHmac('sha256', key).update(text).digest('base64url').slice(0, 22)
    seals.set(second, made)
    return made
  }
  const nonce = () => {
    const second = seconds(clock)
    return `${second.toString(36)}.${seal(second)}`
  }
  const isFresh = (text: string): boolean => {
    const [time = '', mac = ''] = text.split('.', 2)
    const second = Number.parseInt(time, 36)
    const age = seconds(clock) - second
    // Only what this service writes is sealed again, so strangers add nothing to the seals in memory.
    if (!(age >= 0 && age <= nonceSeconds) || second.toString(36) !== time) return false
    // Compared as bytes: characters of a forged one may take several.
    const [given, expected] = [Buffer.from(mac), Buffer.from(seal(second))]
    return given.length === expected.length && timingSafeEqual(given, expected)
  }

  return {
    nonce,
    verify(proof, { htm, htu, accessToken, body, owner }) {
      const { jwk, jws } = openProof(proof)
      const { key: own, jkt } = importKey(findKey, jwk)
      if (!verifyEs256(own, jws.signingInput, jws.signature))
        throw new DpopError('invalid_dpop_proof', 'the signature of the proof is not of its key')
      const ath = accessToken === undefined ? undefined : hashOf(accessToken)
      const { jti } = checkProofClaims(jws.payload, { htm, htu, ath, now: seconds(clock) })
      const { nonce: given, node, vitals, leases, join, start, bh } = jws.payload
      if (typeof given !== 'string' || !isFresh(given)) {
        throw new DpopError('use_dpop_nonce', 'repeat the request with the nonce of the DPoP-Nonce header')
      }
      if (body !== undefined && bh !== hashOf(body))
        throw new DpopError('invalid_dpop_proof', 'the proof is for another body')
      const statement = readStatement(node)
      used.use(jkt, jti, monotonic(), owner)
      const use = { id: hashOf(`${jkt} ${jti}`), endsAt: seconds(clock) + nonceSeconds }
      return { jwk, jkt, node: statement, vitals, leases, join, start, use }
    },
  }
}

function readStatement(node: unknown): NodeStatement | undefined {
  if (node === undefined) return undefined
  const { success, data, error } = nodeStatement.safeParse(node)
  if (success) return data
  const { path, message } = error.issues[0]!
  throw new DpopError('invalid_dpop_proof', `claim "node.${path.join('.')}" of the proof: ${message}`)
}

function importKey(findKey: ReturnType<typeof createKeyCache>, jwk: PublicJwk) {
  try {
    return findKey(jwk)
  } catch {
    throw new DpopError('invalid_dpop_proof', 'the header "jwk" of the proof is not a point of P-256')
  }
}

/** A verifier of several processes: what one of them used up, the others refuse. */
export interface SharedDpopVerifier {
  /** A fresh nonce for the DPoP-Nonce header. */
  nonce(): string
  /** Like {@link DpopVerifier.verify}. @throws DpopError, and whatever `useUp` throws */
  verify(...of: Parameters<DpopVerifier['verify']>): Promise<VerifiedProof>
}

/** @param useUp one caller gets true for an ID, in any process; `endsAt`: Unix second until which it must know */
export function shareDpopVerifier(
  verifier: DpopVerifier,
  useUp: (id: string, endsAt: number) => Promise<boolean>,
): SharedDpopVerifier {
  return {
    nonce: verifier.nonce,
    async verify(...of) {
      const proof = verifier.verify(...of)
      const { id, endsAt } = proof.use
      if (!(await useUp(id, endsAt))) throw new DpopError('invalid_dpop_proof', 'the proof was used before')
      return proof
    },
  }
}
