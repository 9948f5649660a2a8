/** Local tokens: what this runtime issues for leases. Only this process accepts them. */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import {
  type AccessClaims,
  edgeAudience,
  type LeaseClaims,
  type LocalClaims,
  localProfile,
  nodeUrn,
} from '@selvedge/protocol/tokens'
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import { createJwsSigner, createTokenVerifier } from '@selvedge/service-kit/tokens'

/** Seconds. With the leeway of a minute for clocks, a local token is accepted for ten minutes. */
const localTokenSeconds = 540

/** Claims of a lease in the form of those of an access token, for the checks and the handlers of the runtime. */
export type LeasedAccess = AccessClaims & { readonly isLease: true }

export interface LocalTokens {
  /** @param scope of the token @returns the token, and the seconds until it expires */
  issue(lease: LeaseClaims, scope: string): { readonly token: string; readonly expiresIn: number }
  /** Whether a token claims to be one of this process. */
  isOwn(token: string): boolean
  /**
   * The same object for the same token. Its `jti`, `iat` and `epoch` are those of the lease, so that what revokes the lease
   * ends the token; `exp` is that of the token.
   *
   * @throws TokenError
   */
  verify(token: string): LeasedAccess
}

/** The claims of a lease as those of an access token. */
export const accessOf = (lease: LeaseClaims): LeasedAccess => ({
  ...lease,
  aud: edgeAudience,
  act: { sub: lease.node_id },
  isLease: true,
})

/** The key exists while this process runs: it is not the key of the node, no file has it, and a restart ends all local tokens. */
export function createLocalTokens(nodeId: string, clock: Clock): LocalTokens {
  const issuer = nodeUrn(nodeId)
  const mapped = new WeakMap<LocalClaims, LeasedAccess>()
  let keys: ReturnType<typeof make> | undefined
  const make = () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const kid = randomUUID()
    const sign = createJwsSigner({ typ: localProfile.typ, kid }, privateKey)
    const verifier = createTokenVerifier({
      issuers: () => [{ issuer, findKey: (asked) => (asked === kid ? publicKey : undefined) }],
      clock,
      remembered: 200,
    })
    return { sign, verifier, prefix: sign({}).split('.', 1)[0]! }
  }
  const own = () => {
    keys ??= make()
    return keys
  }

  return {
    issue(lease, scope) {
      const now = seconds(clock)
      const expiresIn = Math.min(localTokenSeconds, lease.exp - now)
      const { iss, jti, iat, sid, auth_time, epoch } = lease
      const claims: LocalClaims = {
        iss: issuer,
        sub: lease.sub,
        aud: issuer,
        iat: now,
        exp: now + expiresIn,
        jti: randomUUID(),
        client_id: lease.client_id,
        azp: lease.client_id,
        scope,
        node_id: nodeId,
        account_id: lease.account_id,
        cnf: { jkt: lease.cnf.jkt },
        lease: { iss, jti, iat, sid, auth_time, ...(epoch !== undefined && { epoch }) },
        ...(lease.user && { user: lease.user }),
        ...(lease.shares && { shares: lease.shares }),
      }
      return { token: own().sign(claims), expiresIn }
    },
    isOwn: (token) => keys !== undefined && token.startsWith(`${keys.prefix}.`),
    verify(token) {
      // The key is in memory: nothing is fetched, so there is no promise.
      const claims = own().verifier.verify(token, localProfile, issuer) as LocalClaims
      let access = mapped.get(claims)
      if (!access) mapped.set(claims, (access = toAccess(claims)))
      return access
    },
  }
}

function toAccess({
  lease,
  sub,
  exp,
  client_id,
  scope,
  node_id,
  account_id,
  cnf,
  user,
  shares,
}: LocalClaims): LeasedAccess {
  const { iss, jti, iat, sid, auth_time, epoch } = lease
  return {
    ...{ iss, sub, aud: edgeAudience, iat, exp, jti, client_id, azp: client_id, scope, auth_time },
    ...{ node_id, account_id, act: { sub: node_id }, sid, cnf, isLease: true },
    ...(epoch !== undefined && { epoch }),
    ...(user && { user }),
    ...(shares && { shares }),
  }
}
