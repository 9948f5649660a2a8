/**
 * The exchange of a lease for a local token (RFC 7523): every check in its order, then the record of the use on the disk, then the
 * token. A lease counts only while this runtime cannot reach the identity service.
 */
import { OAuthError, RpcError, type TokenResponse } from '@selvedge/protocol'
import {
  hasScope,
  jwtBearerGrant,
  type LeaseClaims,
  leaseProfile,
  leaseScopes,
  nodeUrn,
  tokenOAuthError,
} from '@selvedge/protocol/tokens'
import { isoTime } from '@selvedge/service-kit/clock'
import { createLimiter, takeOrRefuse } from '@selvedge/service-kit/http'
import { required } from '@selvedge/service-kit/oauth'
import type { DpopVerifier, TokenVerifier } from '@selvedge/service-kit/tokens'
import type { DeviceClock } from '../time/device-clock.ts'
import type { ExpectStillValid } from '../tokens/authorize.ts'
import type { Revocations } from '../tokens/revocations.ts'
import type { Confirmations } from './confirmations.ts'
import { type LeaseStore, maxUses, withUse } from './lease-record.ts'
import { accessOf, type LocalTokens } from './local-tokens.ts'
import type { Reachability } from './reachability.ts'

export interface ExchangeLeaseParts {
  readonly nodeId: string
  readonly clock: DeviceClock
  readonly record: LeaseStore
  /** Trusts the issuers of the runtime. */
  readonly verifier: TokenVerifier
  readonly revocations: Pick<Revocations, 'knowledgeOf'>
  readonly expectStillValid: ExpectStillValid
  readonly dpop: DpopVerifier
  readonly local: LocalTokens
  readonly reachability: Reachability
  readonly confirmations: Pick<Confirmations, 'confirmedAt'>
  /** Days for which the list of revoked tokens counts after it was confirmed. */
  readonly maxListAgeDays: number
  /** URL of the token endpoint: proofs name it, whatever way a request came. */
  readonly url: () => string
}

/** @param proof the DPoP header @throws OAuthError, StoreError */
export type ExchangeLease = (form: ReadonlyMap<string, string>, proof: string) => Promise<TokenResponse>

/** Exchanges of one lease: a program needs one in ten minutes, each command of a terminal needs one. */
const rate = { burst: 120, perSecond: 1 }
/** Milliseconds by which the clock may run behind what is known. */
const toleranceMs = 60_000
/** Milliseconds by which the stored number of tokens and the stored time may be behind. */
const writeEveryMs = 60_000
const dayMs = 86_400_000

/** What a lease is accepted for: services and methods of the associated account, or services that it shares with the person. */
const access = { caller: 'token', token: 'user' } as const

const refuse = (why: string, cause?: unknown): OAuthError =>
  new OAuthError('invalid_grant', why, cause === undefined ? {} : { cause })

export function createExchangeLease(parts: ExchangeLeaseParts): ExchangeLease {
  const { nodeId, dpop, local, reachability, expectStillValid } = parts
  const limiter = createLimiter(rate)
  const expectKnownTime = createTimeCheck(parts)
  const recordUse = createRecordUse(parts)

  async function readLease(assertion: string): Promise<LeaseClaims> {
    try {
      return await parts.verifier.verify(assertion, leaseProfile, nodeUrn(nodeId))
    } catch (cause) {
      throw tokenOAuthError(cause, 'invalid_grant', (refused) => refused.messageFor('assertion'))
    }
  }

  /** The lease is verified before: a proof without a lease needs no memory. */
  function checkProof(proof: string, lease: LeaseClaims): void {
    const owner = `${lease.iss} ${lease.account_id}`
    try {
      if (dpop.verify(proof, { htm: 'POST', htu: parts.url(), owner }).jkt === lease.cnf.jkt) return
    } catch (cause) {
      throw tokenOAuthError(cause, 'invalid_grant')
    }
    throw refuse('the proof is by another key than the lease is bound to')
  }

  function expectUsable(lease: LeaseClaims): void {
    try {
      expectStillValid(accessOf(lease), access)
    } catch (cause) {
      if (cause instanceof RpcError) throw refuse(cause.message.replace(/^the token/, 'the lease'), cause)
      throw cause
    }
    expectKnownTime(lease)
  }

  return async (form, proof) => {
    if (required(form, 'grant_type') !== jwtBearerGrant)
      throw new OAuthError('unsupported_grant_type', `the grant of this runtime is ${jwtBearerGrant}`)
    const lease = await readLease(required(form, 'assertion'))
    if (lease.node_id !== nodeId)
      throw refuse(`the lease is for node ${lease.node_id}; this is node ${nodeId}`)
    if ((form.get('client_id') ?? lease.client_id) !== lease.client_id)
      throw refuse('the lease was issued to another client')
    takeOrRefuse(limiter, lease.jti, 'this lease')
    checkProof(proof, lease)
    const scope = scopeFor(lease, form.get('scope'))
    expectUsable(lease)
    if (await reachability.isReachable(lease.iss))
      throw refuse('this runtime reaches the identity service: refresh the access token there instead')
    // The attempt may have brought a newer list.
    expectUsable(lease)
    await recordUse(lease)
    const { token, expiresIn } = local.issue(lease, scope)
    return {
      access_token: token,
      token_type: 'DPoP',
      expires_in: expiresIn,
      scope,
    }
  }
}

/** The scopes of a local token: those asked for, or all of the lease; never one that no lease may have, whatever its issuer signed. */
function scopeFor(lease: LeaseClaims, asked: string | undefined): string {
  const allowed = leaseScopes.filter((each) => hasScope(lease.scope, each))
  if (asked === undefined) return allowed.join(' ')
  const wanted = [...new Set(asked.split(' '))]
  if (wanted.every((each) => allowed.some((scope) => scope === each))) return wanted.join(' ')
  throw new OAuthError('invalid_scope', `the lease has the scopes ${allowed.join(' ') || '(empty)'}`)
}

/** Refuses a lease while the clock is behind what is known, or what is known of revocations is too old. */
function createTimeCheck(parts: ExchangeLeaseParts) {
  const { clock, record, revocations, confirmations, maxListAgeDays } = parts
  return ({ iss, iat, exp }: LeaseClaims): void => {
    const now = clock.now()
    if (exp * 1000 <= now) throw refuse(`the lease expired at ${isoTime(exp * 1000)}`)
    const { issuedAt, restartedAt } = revocations.knowledgeOf(iss)
    if (issuedAt === undefined)
      throw refuse('this runtime has no list of revoked tokens of the issuer of the lease')
    const confirmedAt = Math.max(confirmations.confirmedAt(iss), issuedAt * 1000)
    const earliest = Math.max(record.value.latest, confirmedAt)
    if (clock.state() === 'unknown' || now + toleranceMs < earliest)
      throw refuse(
        `the clock of this device shows ${isoTime(now)}, a time that has passed: it must be set first`,
      )
    // Revocations that were lost with the data of the identity service cannot be known.
    if (restartedAt !== undefined && iat <= restartedAt)
      throw refuse('the identity service was restored from a backup after the lease was issued')
    if (now - confirmedAt > maxListAgeDays * dayMs)
      throw refuse(
        `the list of revoked tokens was last confirmed at ${isoTime(confirmedAt)}, more than ${maxListAgeDays} days ago (offline.maxListAgeDays)`,
      )
  }
}

/** Records who uses a lease, and the time: before the token is issued, and on the disk. A full disk refuses the lease. */
function createRecordUse({ clock, record }: ExchangeLeaseParts) {
  let writtenAt = Number.NEGATIVE_INFINITY
  return async ({ jti, sid, client_id, account_id: own, shares, exp }: LeaseClaims): Promise<void> => {
    const now = clock.now()
    // The device reports it to its own account.
    const account_id = shares?.account_id ?? own
    const use = { jti, sid, client_id, account_id, last_at: Math.floor(now / 1000), expires_at: exp }
    const change = (value: LeaseStore['value']) => ({
      ...value,
      latest: Math.max(value.latest, now),
      uses: withUse(value.uses, use),
    })
    const { uses } = record.value
    const isKnown = uses.some((each) => each.sid === sid && each.client_id === client_id)
    if (!isKnown && uses.length >= maxUses)
      throw new OAuthError(
        'temporarily_unavailable',
        `${maxUses} sign-ins work on leases already, which is the limit until the identity service is reachable`,
        { status: 503, retryAfter: 60 },
      )
    const elapsed = clock.elapsed()
    if (isKnown && elapsed - writtenAt < writeEveryMs) return record.updateLazily(change)
    await record.update(change)
    writtenAt = elapsed
  }
}
