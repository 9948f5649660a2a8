/** Work without the identity service: gets a lease while it is reachable, and uses it when it is not. */
import { createProofKey, exchangeLease, isAway } from '@selvedge/client'
import type { LeasePlace, StoredLease } from '../login/leases.ts'
import type { Context } from './context.ts'

/** Seconds after which a lease is replaced while the identity service is reachable. */
const renewAfterSeconds = 6 * 3600

/** What a lease is requested with. */
export interface LeaseRequest {
  readonly clientId: string
  readonly developerIdToken: string
  readonly edgeIdToken: string
  /** Scopes that the project allows. */
  readonly scope: string
}

/** Requests a lease if the stored one is old. The command does not fail without a lease. */
export async function renewLease(context: Context, request: LeaseRequest): Promise<void> {
  const { leases, now } = context
  try {
    const { url: identityUrl, client } = await context.identity()
    const { nodeId } = await context.runtime.getMe()
    const place = { identityUrl, clientId: request.clientId, nodeId }
    const stored = leases.read(place)
    if (stored && now() - stored.issuedAt < renewAfterSeconds && stored.expiresAt > now()) return
    const key = await createProofKey(stored?.key)
    const { lease, lease_expires_in: lifeSeconds = 0 } = await client.exchange({ ...request, key })
    if (lease === undefined) return
    const issuedAt = now()
    leases.write({ ...place, lease, issuedAt, expiresAt: issuedAt + lifeSeconds, key: await key.export() })
  } catch (cause) {
    context.terminal.note(`no lease for work without the network: ${(cause as Error).message}`)
  }
}

/**
 * A local token for the lease of a project.
 *
 * @param cause why the identity service gave no token
 * @throws cause if it was reachable or there is no lease; OAuthFailure if the runtime refuses the lease
 */
export async function localTokenFor(context: Context, clientId: string, cause: unknown): Promise<string> {
  const stored = isAway(cause) ? await findLease(context, clientId) : undefined
  if (!stored) throw cause
  const { runtime, runtimeConnection, bound, terminal } = context
  const { offline } = await runtime.getMe()
  const { tokenEndpoint } = offline
  const key = await createProofKey(stored.key)
  const request = { lease: stored.lease, key, tokenEndpoint }
  const { access_token: token } = await exchangeLease(runtimeConnection, request)
  bound.use(token, key, new URL(tokenEndpoint).protocol)
  terminal.note(
    `the identity service is not reachable: working on a lease until ${new Date(stored.expiresAt * 1000).toISOString()}`,
  )
  return token
}

async function findLease(context: Context, clientId: string): Promise<StoredLease | undefined> {
  const { url: identityUrl } = await context.identity()
  const { nodeId } = await context.runtime.getMe()
  const place: LeasePlace = { identityUrl, clientId, nodeId }
  return context.leases.read(place)
}
