/** Leases for clients that prove a key, beside their access token for a node. */
import { randomUUID } from 'node:crypto'
import type { TokenResponse } from '@selvedge/protocol'
import { hasScope, type LeaseClaims, leaseProfile, nodeUrn } from '@selvedge/protocol/tokens'
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import type { SigningKeys } from '../../registry/keys/signing-keys.ts'
import { hasLeases } from '../../registry/projects/offline.ts'
import { leasesOf } from '../../registry/projects/projects.ts'
import type { LeaseSources } from '../../registry/sign-ins/lease-sources.ts'
import type { Grounds } from './mint.ts'

export interface LeaseParts {
  readonly clock: Clock
  readonly keys: SigningKeys
  readonly issuer: () => string
  readonly leaseSources: LeaseSources
}

type LeaseMembers = Pick<TokenResponse, 'lease' | 'lease_expires_in' | 'lease_scope'>

/** @returns the members that an answer with an access token gets in addition; empty without a lease */
export type IssueLease = (grounds: Grounds) => Promise<LeaseMembers>

/** The one place where leases are made. Projects without leases cost nothing here. */
export function createIssueLease({ clock, keys, issuer, leaseSources }: LeaseParts): IssueLease {
  return async ({
    project,
    accountId,
    subject = accountId,
    authTime,
    scope: granted,
    sid,
    epoch,
    nodeId,
    jkt,
    user,
    shares,
  }) => {
    const offline = leasesOf(project)
    if (nodeId === undefined || !hasLeases(offline)) return {}
    const scope = offline.scopes.filter((each) => hasScope(granted, each)).join(' ')
    if (scope === '') return {}
    if (jkt === undefined) return { lease_scope: scope }
    const endsAt = await leaseSources.expiresAt(sid)
    if (endsAt === undefined) return {}
    const now = seconds(clock)
    const exp = Math.min(now + offline.maxDays * 86_400, Math.floor(endsAt / 1000))
    if (exp <= now) return {}
    const claims: LeaseClaims = {
      iss: issuer(),
      sub: subject,
      aud: nodeUrn(nodeId),
      client_id: project.clientId,
      azp: project.clientId,
      scope,
      iat: now,
      exp,
      jti: randomUUID(),
      auth_time: authTime,
      account_id: accountId,
      node_id: nodeId,
      sid,
      epoch,
      cnf: { jkt },
      ...(user && { user }),
      ...(shares && { shares }),
    }
    return { lease: keys.sign(leaseProfile.typ, claims), lease_expires_in: exp - now }
  }
}
