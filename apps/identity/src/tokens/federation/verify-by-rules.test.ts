/** How many issuers without keys the requests of one account wait for. */
import type { OAuthError } from '@selvedge/protocol'
import { type FederatedClaims, TokenError } from '@selvedge/protocol/tokens'
import { expect, it } from 'vitest'
import type { TrustedIssuer } from '../../registry/projects/issuers.ts'
import { createRulesVerifier } from './verify-by-rules.ts'

const claims = { sub: 's' } as FederatedClaims
const rulesOf = (issuer: string) =>
  [{ issuer, algorithms: ['RS256'], allowsPrivate: false }] as unknown as TrustedIssuer[]

/** Keys that are known for issuers on port 1 only, and arrive for the others when a test resolves them. */
function make() {
  const arrivals: PromiseWithResolvers<FederatedClaims>[] = []
  let problem: string | null = null
  const verify = createRulesVerifier({
    verifierOf: ({ issuer }) => ({
      verify: (() => {
        if (issuer.endsWith(':1')) return claims
        const arrival = Promise.withResolvers<FederatedClaims>()
        arrivals.push(arrival)
        return arrival.promise
      }) as never,
      verifyEnded: () => expect.unreachable(),
    }),
    describe: ({ issuer }) => ({
      count: issuer.endsWith(':1') ? 1 : 0,
      fetchedAt: null,
      validUntil: null,
      problem,
    }),
  })
  const ask = (issuer: string, account = 'a') =>
    verify(rulesOf(issuer), 'token', account).then(
      () => 'verified',
      (cause: OAuthError) => `${cause.status}: ${cause.message}`,
    )
  return { ask, arrivals, fail: (why: string) => (problem = why) }
}

const slow = Array.from({ length: 8 }, (_, at) => `https://slow-${at}.example`)
const refused = expect.stringMatching(/^503: the account waits for the keys of 8 issuers/)

it('one account waits for eight issuers; further ones are refused until one of them answers', async () => {
  const { ask, arrivals } = make()
  const waiting = slow.map((each) => ask(each))
  expect(await ask('https://another.example')).toEqual(refused)
  for (const each of arrivals) each.resolve(claims)
  expect(await Promise.all(waiting)).toEqual(slow.map(() => 'verified'))
  const later = ask('https://another.example')
  arrivals.at(-1)!.resolve(claims)
  expect(await later).toBe('verified')
})

it('more requests for an issuer that is waited for wait with the others', async () => {
  const { ask, arrivals } = make()
  const waiting = [...slow, slow[0]!].map((each) => ask(each))
  arrivals[0]!.resolve(claims)
  expect(await waiting[0]).toBe('verified')
  // The second request for the same issuer still waits.
  expect(await ask('https://another.example')).toEqual(refused)
  for (const each of arrivals) each.resolve(claims)
  await Promise.all(waiting)
  // Then nothing waits any more, also of the issuer that two requests waited for.
  const later = slow.slice(1).map((each) => ask(each))
  const last = ask('https://another.example')
  for (const each of arrivals) each.resolve(claims)
  expect(await Promise.all([...later, last])).toEqual([...later, last].map(() => 'verified'))
})

it('other accounts, and issuers with known keys, do not notice', async () => {
  const { ask, arrivals } = make()
  const waiting = slow.map((each) => ask(each))
  expect(await ask('https://known.example:1')).toBe('verified')
  const other = ask('https://another.example', 'b')
  for (const each of arrivals) each.resolve(claims)
  expect(await other).toBe('verified')
  await Promise.all(waiting)
})

it('a refusal while there are no keys is a reason to try again, and does not show why they are missing', async () => {
  const { ask, arrivals, fail } = make()
  const waiting = ask(slow[0]!)
  fail('10.0.0.1 is private')
  arrivals[0]!.reject(new TokenError('token_untrusted', 'no key'))
  expect(await waiting).toBe(
    '503: the keys of the issuer "https://slow-0.example" could not be fetched; try again later',
  )
})

it('one rule that allows private networks is enough, and each set of algorithms has one profile', async () => {
  const asked: { isPrivate: boolean; profile: unknown }[] = []
  const verify = createRulesVerifier({
    verifierOf: ({ allowsPrivate }) => ({
      verify: ((_: string, profile: unknown) => {
        asked.push({ isPrivate: allowsPrivate, profile })
        return claims
      }) as never,
      verifyEnded: () => expect.unreachable(),
    }),
    describe: () => ({ count: 1, fetchedAt: null, validUntil: null, problem: null }),
  })
  const [rule] = rulesOf('https://issuer.example')
  const inPrivate = { ...rule!, allowsPrivate: true, algorithms: ['ES256'] as const }
  for (const rules of [[rule!, inPrivate], [inPrivate, rule!], [rule!], [inPrivate]])
    await verify(rules, 'token', 'a')
  expect(asked.map(({ isPrivate }) => isPrivate)).toEqual([true, true, false, true])
  const profiles = asked.map(({ profile }) => profile)
  expect(profiles[0]).toBe(profiles[1])
  expect(new Set(profiles).size).toBe(3)
})
