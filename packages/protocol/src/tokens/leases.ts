/**
 * Leases: what lets a client go on working at one device while the device cannot reach its identity service. A lease is no access
 * token: the runtime of its node exchanges it for local tokens (RFC 7523), and nothing else accepts it.
 */
import * as z from 'zod'
import { nodeIdPattern } from '../methods/values.ts'
import type { JsonObject } from './jws.ts'
import { type AccessClaims, type BaseClaims, nonEmpty, type TokenProfile } from './profiles.ts'
import type { Scope } from './scopes.ts'
import { type UserClaims, userProblem } from './users.ts'

/** Grant type of the exchange of a lease at a runtime (RFC 7523 § 2.1). */
export const jwtBearerGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** Path of the token endpoint of a runtime. */
export const localTokenPath = '/token'

/** Days for which a project may let a lease live. */
export const leaseDays = { min: 1, max: 400 } as const

/** Scopes that a project may name for leases. No lease changes the account of a device, and no lease needs the cloud. */
export const leaseScopes = ['openid', 'edge:mcm', 'edge:clusters'] as const satisfies readonly Scope[]
export type LeaseScope = (typeof leaseScopes)[number]

/** The runtime of a node, as the issuer and the audience of local tokens and as the audience of leases. */
export const nodeUrn = (nodeId: string): string => `urn:selvedge:node:${nodeId}`

/** A lease is always bound to a key, a client and a node. */
export interface LeaseClaims extends Omit<AccessClaims, 'act' | 'cnf'> {
  readonly cnf: { readonly jkt: string }
}

/** A local token: what a runtime issues for a lease, and accepts itself. */
export interface LocalClaims extends BaseClaims, UserClaims {
  readonly client_id: string
  readonly azp: string
  readonly scope: string
  readonly node_id: string
  readonly account_id: string
  readonly cnf: { readonly jkt: string }
  /** The lease that it came from: what revokes the lease ends the local token. */
  readonly lease: {
    readonly iss: string
    readonly jti: string
    readonly iat: number
    readonly sid: string
    readonly auth_time: number
    readonly epoch?: number
  }
}

/** IDs of tokens, sign-ins, clients and accounts as devices store and report them: printable, without spaces. */
const idPattern = /^[\x21-\x7e]{1,64}$/

/** What is wrong with claims that have to be such IDs. */
function idProblem(payload: JsonObject, names: readonly string[]): string | undefined {
  const name = names.find((each) => typeof payload[each] !== 'string' || !idPattern.test(payload[each]))
  return name === undefined ? undefined : `claim "${name}" is not an ID of at most 64 printable characters`
}

function boundProblem(payload: JsonObject): string | undefined {
  if (!nonEmpty(payload.sub)) return 'claim "sub" is not a non-empty string'
  const problem = idProblem(payload, ['client_id', 'account_id'])
  if (problem !== undefined) return problem
  if (typeof payload.node_id !== 'string' || !nodeIdPattern.test(payload.node_id))
    return 'claim "node_id" is not a node ID'
  if (!nonEmpty(Object(payload.cnf).jkt)) return 'claim "cnf.jkt" is not a thumbprint'
  if (typeof payload.scope !== 'string') return 'claim "scope" is not a string'
  return userProblem(payload)
}

export const leaseProfile: TokenProfile<LeaseClaims> = {
  label: 'lease',
  typ: 'lease+jwt',
  maxLifetime: leaseDays.max * 86_400,
  check(payload) {
    const problem = idProblem(payload, ['jti', 'sid'])
    if (problem !== undefined) return problem
    if (typeof payload.auth_time !== 'number') return 'claim "auth_time" is not a number'
    if (payload.epoch !== undefined && !Number.isSafeInteger(payload.epoch))
      return 'claim "epoch" is not a whole number'
    return boundProblem(payload)
  },
}

export const localProfile: TokenProfile<LocalClaims> = {
  label: 'local token',
  typ: 'local-at+jwt',
  maxLifetime: 600,
  check: boundProblem,
}

/** Maximum uses of leases that a device reports at once, and their characters as JSON: they travel in the header of a request. */
export const leaseUseLimits = { count: 8, characters: 2400 } as const

const id = z.string().regex(idPattern)

/** How one lease was used while the identity service was not reachable, as the device states it. Times are Unix seconds. */
const leaseUse = z.object({
  jti: id,
  sid: id,
  client_id: id,
  account_id: id,
  /** Local tokens that were issued for it. */
  count: z.number().int().min(1).max(1_000_000_000),
  first_at: z.number().int().min(0).max(253_402_300_799),
  last_at: z.number().int().min(0).max(253_402_300_799),
})
export type LeaseUse = z.infer<typeof leaseUse>

const leaseUses = z.array(leaseUse).min(1).max(leaseUseLimits.count)

/** The uses of leases in a claim of a device; undefined if the claim is absent, too long or ill formed. */
export function readLeaseUses(claim: unknown): readonly LeaseUse[] | undefined {
  if (claim === undefined || JSON.stringify(claim).length > leaseUseLimits.characters) return undefined
  return leaseUses.safeParse(claim).data
}
