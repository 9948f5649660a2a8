/** What the unit tests of tokens and grants at the identity service share. */
import { generateKeyPairSync } from 'node:crypto'
import { OAuthError } from '@selvedge/protocol'
import { TokenError } from '@selvedge/protocol/tokens'
import type { Clock } from '@selvedge/service-kit/clock'
import { sql } from '@selvedge/service-kit/store'
import { createTokenVerifier } from '@selvedge/service-kit/tokens'

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
