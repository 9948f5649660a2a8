/** Who a service is, to other services of this device: tokens that the gateway itself issues and checks. */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { RpcError } from '@selvedge/protocol'
import { leeway, type ServiceClaims, serviceProfile } from '@selvedge/protocol/tokens'
import { type Clock, isoTime, seconds } from '@selvedge/service-kit/clock'
import { createJwsSigner, createTokenVerifier } from '@selvedge/service-kit/tokens'

/** Seconds for which a service may show a token. */
const lifetimeSeconds = 300

export interface ServiceIdentity {
  /** @param audience id of the container that the token is for, and the only one that accepts it */
  issue(
    subject: Pick<ServiceClaims, 'sub' | 'client_id' | 'account_id'>,
    audience: string,
  ): { token: string; expiresAt: string }
  /** Whether a token claims to be one of these, and not of an issuer. */
  isOwn(token: string): boolean
  /** @throws TokenError */
  verify(token: string, audience: string): ServiceClaims | Promise<ServiceClaims>
  /** @throws RpcError `token_expired` */
  expectUnexpired(claims: ServiceClaims): void
}

/** The key exists while this process runs: no other process uses it, and it can't be lost. */
export function createServiceIdentity(nodeId: string, clock: Clock): ServiceIdentity {
  const issuer = `urn:selvedge:node:${nodeId}`
  let keys: ReturnType<typeof make> | undefined
  const make = () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const kid = randomUUID()
    const sign = createJwsSigner({ typ: serviceProfile.typ, kid }, privateKey)
    const verifier = createTokenVerifier({
      issuers: () => [{ issuer, findKey: (asked) => (asked === kid ? publicKey : undefined) }],
      clock,
      remembered: 200,
    })
    const prefix = sign({}).split('.', 1)[0]!
    return { sign, verifier, prefix }
  }
  const own = () => {
    keys ??= make()
    return keys
  }
  return {
    issue(subject, audience) {
      const now = seconds(clock)
      const claims = {
        iss: issuer,
        ...subject,
        aud: audience,
        iat: now,
        exp: now + lifetimeSeconds,
        jti: randomUUID(),
      }
      return { token: own().sign(claims), expiresAt: isoTime((now + lifetimeSeconds) * 1000) }
    },
    isOwn: (token) => keys !== undefined && token.startsWith(`${keys.prefix}.`),
    verify: (token, audience) => own().verifier.verify(token, serviceProfile, audience),
    expectUnexpired({ exp }) {
      if (exp + leeway <= seconds(clock))
        throw new RpcError(
          'token_expired',
          `the token of the calling service expired at ${isoTime(exp * 1000)}`,
        )
    },
  }
}
