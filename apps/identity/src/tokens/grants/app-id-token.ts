/** ID tokens of people who signed in to an app (OpenID Connect Core 1.0 § 2). */
import { hash, randomUUID } from 'node:crypto'
import type { AppIdAlgorithm, AppIdClaims } from '@selvedge/protocol/tokens'
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import type { SigningKeys } from '../../registry/keys/signing-keys.ts'
import type { SignIn } from '../../registry/sign-ins/sign-ins.ts'

interface AppIdGrounds {
  readonly signIn: Pick<SignIn, 'sid' | 'clientId' | 'accountId' | 'personId' | 'email' | 'authTime'>
  /** The access token that is issued with it. */
  readonly accessToken: string
  readonly lifetimeSeconds: number
  /** As the project has it. */
  readonly algorithm: AppIdAlgorithm
  /** Of the authorization request; absent at a refresh (§ 12.2). */
  readonly nonce?: string
  /** Number of the newest change that was known before the checks. */
  readonly epoch: number
}

export type IssueAppId = (grounds: AppIdGrounds) => string

export function createAppIdTokens({
  clock,
  keys,
  issuer,
}: {
  readonly clock: Clock
  readonly keys: Pick<SigningKeys, 'signAppId'>
  readonly issuer: () => string
}): IssueAppId {
  return ({ signIn, accessToken, lifetimeSeconds, algorithm, nonce, epoch }) => {
    const { sid, clientId, accountId, personId, email, authTime } = signIn
    const now = seconds(clock)
    const claims: AppIdClaims = {
      iss: issuer(),
      sub: personId,
      aud: clientId,
      iat: now,
      exp: now + lifetimeSeconds,
      jti: randomUUID(),
      account_id: accountId,
      email,
      auth_time: authTime,
      sid,
      at_hash: hashOfToken(accessToken),
      epoch,
      ...(nonce !== undefined && { nonce }),
    }
    return keys.signAppId(claims, algorithm)
  }
}

/** The left half of the SHA-256 of a token (§ 3.1.3.6), which belongs to ES256 and RS256. */
const hashOfToken = (token: string): string =>
  hash('sha256', token, 'buffer').subarray(0, 16).toString('base64url')
