import { randomUUID } from 'node:crypto'
import type { TokenResponse } from '@selvedge/protocol'
import {
  type AccessClaims,
  accessProfile,
  type PersonClaims,
  type UserClaims,
} from '@selvedge/protocol/tokens'
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import type { SigningKeys } from '../../registry/keys/signing-keys.ts'
import type { Project } from '../../registry/projects/projects.ts'

export interface MintParts {
  readonly clock: Clock
  readonly keys: SigningKeys
  readonly issuer: () => string
  /** Default lifetime in seconds; a project may set another one. */
  readonly lifetimeSeconds: number
}

/** The content of an access token, after all checks. */
export interface Grounds extends UserClaims {
  readonly project: Project
  readonly accountId: string
  /** The person of an app, or what acts for the account by a token of another issuer; absent: the account. */
  readonly subject?: string | undefined
  readonly authTime: number
  readonly scope: string
  readonly audience: string | string[]
  /** The sign-in or token with which it is revoked. */
  readonly sid: string
  /** Number of the newest change that was known before the checks. */
  readonly epoch: number
  /** Undefined: for a person alone. */
  readonly nodeId: string | undefined
  /** Thumbprint of the key that it is bound to; undefined: a bearer token. */
  readonly jkt: string | undefined
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

export type Mint = (grounds: Grounds) => TokenResponse

/** The one place where access tokens are made. */
export function createMint({ clock, keys, issuer, lifetimeSeconds }: MintParts): Mint {
  return ({
    project,
    accountId,
    subject = accountId,
    authTime,
    scope,
    audience,
    sid,
    epoch,
    nodeId,
    jkt,
    user,
    shares,
  }) => {
    const now = seconds(clock)
    const lifeSeconds = project.accessLifetime || lifetimeSeconds
    const claims: PersonClaims & Partial<Writable<AccessClaims>> = {
      iss: issuer(),
      sub: subject,
      aud: audience,
      client_id: project.clientId,
      azp: project.clientId,
      scope,
      iat: now,
      exp: now + lifeSeconds,
      jti: randomUUID(),
      auth_time: authTime,
      account_id: accountId,
      sid,
      epoch,
    }
    if (nodeId !== undefined) {
      claims.node_id = nodeId
      claims.act = { sub: nodeId }
    }
    if (user !== undefined) claims.user = user
    if (shares !== undefined) claims.shares = shares
    if (jkt !== undefined) claims.cnf = { jkt }
    return {
      access_token: keys.sign(accessProfile.typ, claims),
      token_type: jkt === undefined ? 'Bearer' : 'DPoP',
      expires_in: lifeSeconds,
      scope,
    }
  }
}
