/** Who may call: the issuers that the device trusts, the tokens that they revoked, and the check of each token and its proof. */
import { randomBytes } from 'node:crypto'
import type { IdentityClient } from '@selvedge/client'
import { type AccessClaims, accessProfile } from '@selvedge/protocol/tokens'
import { inBackground } from '@selvedge/service-kit/safely'
import { waitAtMostFor } from '@selvedge/service-kit/share'
import {
  createDpopVerifier,
  createTokenVerifier,
  type DpopVerifier,
  type RemoteIssuer,
  type TokenVerifier,
} from '@selvedge/service-kit/tokens'
import type { Notices } from '../node/notices.ts'
import type { StateStore } from '../state.ts'
import type { DeviceClock } from '../time/device-clock.ts'
import { waitLimitMs } from '../time-limits.ts'
import { type Authorize, createAuthorize, type ExpectStillValid, type KeepUnrevoked } from './authorize.ts'
import { createLastingAnswers, type LastingAnswers } from './lasting.ts'
import { createCheckProof } from './proof.ts'
import { createRevocations, type Revocations, type RevocationsParts } from './revocations.ts'
import type { Tenants } from './tenants.ts'
import { createWatchWork, type WatchWork } from './wanted-work.ts'

/** Tokens that this process issues itself. */
interface OwnTokens {
  /** Whether a token claims to be one of them. */
  isOwn(token: string): boolean
  /** The same object for the same token. @throws TokenError */
  verify(token: string): AccessClaims
}

/** What checks the callers of methods, of REST routes and of services. */
export interface Callers {
  readonly authorize: Authorize
  readonly expectStillValid: ExpectStillValid
  readonly keepUnrevoked: KeepUnrevoked
  readonly lasting: LastingAnswers
  readonly watchWork: WatchWork
  /** The next DPoP nonce. */
  readonly nonce: () => string
  readonly revocations: Revocations
  /** Verifies proofs, each of which counts once. */
  readonly dpop: DpopVerifier
  /** Trusts the issuers of this device. */
  readonly verifier: TokenVerifier
}

export interface CallersParts {
  readonly nodeId: string
  readonly state: StateStore
  readonly clock: DeviceClock
  readonly notices: Notices
  readonly tenants: Omit<Tenants, 'stop'>
  readonly lists: RevocationsParts['store']
  /** Seconds between two requests for the lists of revoked tokens. */
  readonly intervalSeconds: number
  readonly overTls: boolean
  readonly clientFor: (issuer: string) => IdentityClient
  /** Called when a list revokes something of this node itself. */
  readonly onOwnNode: () => void
  /** Tokens that this process issues itself, accepted like access tokens. */
  readonly ownTokens?: OwnTokens
}

/** Maximum verified access tokens in the cache. */
const maxCachedTokens = 1000

/** For callers: they wait for keys for 4 s at most. Keys that come later count from then on. */
function waitBriefly(issuer: RemoteIssuer): RemoteIssuer {
  const refresh = waitAtMostFor(issuer.refresh, waitLimitMs, () => new Error('no answer in time'))
  return { ...issuer, refresh: () => refresh().catch(() => false) }
}

export function openCallers(parts: CallersParts): Callers {
  const { nodeId, state, clock, notices, tenants } = parts
  const awaited = tenants.issuers.map(waitBriefly)
  const issuers = () => awaited
  const verifier = createTokenVerifier({ issuers, clock, remembered: maxCachedTokens })
  const lasting = createLastingAnswers()
  tenants.onChange(() => inBackground('lasting.verify', lasting.verifyAll()))
  const revocations = createRevocations({
    clock,
    notices,
    store: parts.lists,
    nodeId,
    issuers: tenants.issuers.map(({ issuer }) => ({ issuer, client: parts.clientFor(issuer) })),
    verifier: createTokenVerifier({ issuers, clock, remembered: 0 }),
    isTimeTrusted: () => clock.state() === 'trusted',
    intervalSeconds: parts.intervalSeconds,
    onOwnNode: parts.onOwnNode,
  })
  // A nonce is valid for this process only: after a restart the first proof gets a new nonce.
  const dpop = createDpopVerifier(randomBytes(32), clock)
  const checkProof = createCheckProof(dpop, parts.overTls ? 'https' : 'http')
  const accepted = parts.ownTokens ? withOwnTokens(verifier, parts.ownTokens) : verifier
  const checks = createAuthorize({ nodeId, clock, state, verifier: accepted, revocations, checkProof })
  const watchWork = createWatchWork({ state, revocations, lasting })
  return { ...checks, lasting, watchWork, nonce: dpop.nonce, dpop, verifier, revocations }
}

const withOwnTokens = (verifier: TokenVerifier, own: OwnTokens): TokenVerifier => ({
  ...verifier,
  verify: (token, profile, audience) =>
    (profile as object) === accessProfile && own.isOwn(token)
      ? (own.verify(token) as never)
      : verifier.verify(token, profile, audience),
})
