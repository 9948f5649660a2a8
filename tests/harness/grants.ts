/** What the unit tests of tokens and grants at the identity service share. */
import { generateKeyPairSync } from 'node:crypto'
import { OAuthError } from '@selvedge/protocol'
import { TokenError } from '@selvedge/protocol/tokens'
import type { Clock, SteadyClock } from '@selvedge/service-kit/clock'
import { sql } from '@selvedge/service-kit/store'
import { createMemoryLog, openMemoryStore } from '@selvedge/service-kit/testing'
import { createTokenVerifier } from '@selvedge/service-kit/tokens'
import { noApp } from '../../apps/identity/src/registry/projects/project-apps.ts'
import type { Project } from '../../apps/identity/src/registry/projects/projects.ts'
import { openRevocations } from '../../apps/identity/src/registry/revocation/revocations.ts'
import { createSignIns } from '../../apps/identity/src/registry/sign-ins/sign-ins.ts'
import { createAudit } from '../../apps/identity/src/storage/audit/audit.ts'
import { openChanges } from '../../apps/identity/src/storage/changes/changes.ts'
import { migrations } from '../../apps/identity/src/storage/schema.ts'

/** An issuer with one key, and a verifier that trusts it and remembers nothing. */
export function createTestIssuer(clock: Clock) {
  const issuer = 'https://identity.example'
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuers = () => [{ issuer, findKey: () => publicKey }]
  return { issuer, privateKey, verifier: createTokenVerifier({ issuers, clock, remembered: 0 }) }
}

/** How an answer ends: `accepted`, the OAuth error code, or the reason of the token error. */
export async function outcomeOfAnswer(answer: () => Promise<unknown>): Promise<string> {
  try {
    await answer()
    return 'accepted'
  } catch (cause) {
    if (cause instanceof OAuthError) return cause.code
    if (cause instanceof TokenError) return cause.reason
    throw cause
  }
}

/** A project of the account `a` that may use refresh tokens. */
export const projectOf = (change: Partial<Project> = {}): Project => ({
  clientId: 'c',
  name: 'p',
  accountId: 'a',
  scopes: ['openid', 'edge:mcm', 'offline_access'],
  resources: [],
  active: true,
  createdAt: '',
  accessLifetime: 0,
  developerLifetime: 0,
  dpop: 'optional',
  offline: { maxDays: 0, scopes: [] },
  ...noApp,
  ...change,
})

/** A database in memory with what grants change in it: sign-ins for a day, with a grace of 10 seconds. */
export async function openGrantStore(clock: SteadyClock) {
  const store = openMemoryStore(migrations)
  const changes = await openChanges({ store, clock, system: clock, log: createMemoryLog(), maxAgeMs: 1e9 })
  const revocations = await openRevocations(store, clock, changes, 3600, noFolding)
  const secret = Buffer.alloc(32, 3)
  const lifetimes = { lifetimeSeconds: 86_400, graceSeconds: 10 }
  return {
    store,
    changes,
    revocations,
    signIns: createSignIns({ store, clock, secret, revocations, ...lifetimes }),
    audit: createAudit(store, clock, { keepMs: 1e12, perAccount: 100 }),
    async close() {
      await changes.stop()
      await store.close()
    },
  }
}

export type GrantStore = Awaited<ReturnType<typeof openGrantStore>>

/** The `Folding` of a list of revoked tokens without bounds. */
export const noFolding = {
  check: async () => false,
  end: () => sql`SELECT 1`,
  checkAll: async () => undefined,
}

/** Limits that record each `<client> <account>`, and refuse while `refuses()` is true. */
export const notingLimits = (counted: string[], refuses: () => boolean) => ({
  takeFor(clientId: string, accountId: string) {
    counted.push(`${clientId} ${accountId}`)
    if (refuses()) throw new OAuthError('temporarily_unavailable', 'too many')
  },
})
