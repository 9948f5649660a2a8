/** ID tokens of trusted issuers: which rules are asked, and what decides. */

import type { OAuthError } from '@selvedge/protocol'
import { maxTokenLength, type TokenError } from '@selvedge/protocol/tokens'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { directNetwork } from '../../../../../tests/harness/direct-network.ts'
import { jwkOf, type SignOptions, signToken } from '../../../../../tests/harness/oidc-issuer.ts'
import type { FederatedSubject } from '../../registry/projects/federated-subjects.ts'
import type { TrustedIssuer } from '../../registry/projects/issuers.ts'
import type { Project } from '../../registry/projects/projects.ts'
import { createFederation } from './federation.ts'
import { createIssuerKeys } from './issuer-keys.ts'
import { readClaimed } from './read-claimed.ts'
import { createRulesVerifier } from './verify-by-rules.ts'

const issuer = 'https://issuer.example'
const clock = createFakeClock()
const iat = Math.floor(clock.now() / 1000)
const claims = { iss: issuer, sub: 'job-1', aud: 'client-1', iat, exp: iat + 300, ref: 'main' }
const rule: TrustedIssuer = {
  issuerId: 'rule-1',
  clientId: 'client-1',
  issuer,
  audiences: ['client-1'],
  conditions: [{ claim: 'ref', value: 'main' }],
  scopes: ['edge:mcm'],
  as: 'workload',
  algorithms: ['ES256'],
  allowsPrivate: false,
  createdAt: '2026-01-01T00:00:00.000Z',
  notBefore: 0,
}
const project = { accountId: 'account-1' } as Project

/** @param person linked to the subject; undefined: no one is */
function make({
  person,
  notBefore = 0,
  down = false,
}: {
  person?: string
  notBefore?: number
  down?: boolean
} = {}) {
  const fetched: string[] = []
  const issuerKeys = createIssuerKeys({
    clock,
    network: directNetwork,
    log: createMemoryLog(),
    issuerKeySets: { load: async () => undefined, save: async () => undefined },
    getterOf: () => async (url) => {
      fetched.push(url)
      if (down) throw new Error('no answer')
      const of = url.slice(0, url.indexOf('/.well-known'))
      return url.endsWith('/keys')
        ? { keys: [jwkOf('ES256'), jwkOf('RS256')] }
        : { issuer: of === issuer ? of : `${of}/`, jwks_uri: `${of}/keys` }
    },
  })
  const asWorkload = { sid: 'workload', notBefore } as unknown as FederatedSubject
  const asPerson = { sid: person, notBefore } as unknown as FederatedSubject
  const federation = createFederation({
    verify: createRulesVerifier(issuerKeys),
    federatedSubjects: {
      workload: async () => asWorkload,
      person: async () => (person === undefined ? undefined : asPerson),
    } as never,
  })
  const letIn = async (rules: readonly TrustedIssuer[], token: string, scope = 'edge:mcm') => {
    const claimed = federation.readClaimed(token)!
    try {
      const found = await federation.letIn(project, { rules }, claimed, token, scope)
      return `${found.rule.issuerId} ${(found.subject as unknown as { sid: string }).sid}`
    } catch (cause) {
      const { reason, code, message } = cause as TokenError & OAuthError
      return `${reason ?? code}: ${message}`
    }
  }
  return { federation, letIn, fetched }
}
const token = (more: object = {}, options: SignOptions = { algorithm: 'ES256' }) =>
  signToken({ ...claims, ...more }, options)

it('the rules of the issuer of the token are asked, and no others', async () => {
  const other = { ...rule, issuerId: 'other', issuer: 'https://other.example' }
  const { letIn } = make()
  expect(await letIn([other, rule], token())).toBe('rule-1 workload')
})

it('an issuer with a slash at its end is another issuer', async () => {
  const slashed = { ...rule, issuerId: 'slashed', issuer: `${issuer}/` }
  const { letIn, fetched } = make()
  expect(await letIn([slashed, rule], token())).toBe('rule-1 workload')
  // The metadata behind it is the same, and has to name the issuer of the rule.
  expect(await letIn([rule, slashed], token({ iss: `${issuer}/` }))).toMatch(/^temporarily_unavailable/)
  expect(new Set(fetched).size).toBe(2)
})

it('the algorithm is one of the rules, not the one that the token names', async () => {
  const { letIn } = make()
  const signed = token({}, { algorithm: 'RS256' })
  const both = { ...rule, issuerId: 'rsa', algorithms: ['RS256'] as const }
  expect(await letIn([rule, both], signed)).toBe('rsa workload')
  expect(await letIn([rule], signed)).toMatch(/^token_\w+: .*RS256/)
})

it('a person needs a link, a workload does not', async () => {
  const people = { ...rule, as: 'person' as const }
  expect(await make({ person: 'ada' }).letIn([people], token())).toBe('rule-1 ada')
  expect(await make().letIn([people], token())).toBe(
    'token_untrusted: the subject "job-1" of the ID token is linked to no person of the account; "selvedge admin issuer link" links it',
  )
  expect(await make().letIn([rule], token())).toBe('rule-1 workload')
})

it('a subject that was revoked later than the token was issued is refused', async () => {
  expect(await make({ notBefore: iat }).letIn([rule], token())).toBe(
    'token_revoked: the ID token is from before its subject was revoked in this project; get a new one',
  )
  expect(await make({ notBefore: iat - 61 }).letIn([rule], token())).toBe('rule-1 workload')
})

it('a test of a token states the first problem, or the one of each rule', async () => {
  const { federation } = make()
  const test = (text: string, rules = [rule]) => federation.test(rules, issuer, text)
  const refused = { accepted: false, subject: null, rules: [] }
  expect(await test('x')).toEqual({ ...refused, problem: 'the token is not a JWT with the claim "iss"' })
  expect(await test(token({ iss: `${issuer}/` }))).toEqual({
    ...refused,
    problem: `claim "iss" is "${issuer}/"; the rules are for "${issuer}"`,
  })
  expect(await test(`${token()}x`)).toEqual({ ...refused, problem: expect.stringContaining('signature') })
  const wrong = { ...rule, issuerId: 'rule-2', audiences: ['another'] }
  expect(await test(token(), [rule, wrong])).toEqual({
    accepted: true,
    problem: null,
    subject: 'job-1',
    rules: [
      { issuerId: 'rule-1', problem: null },
      { issuerId: 'rule-2', problem: expect.stringContaining('claim "aud"') },
    ],
  })
  expect(await test(token(), [wrong])).toMatchObject({ accepted: false, problem: null, subject: 'job-1' })
  expect(await make({ down: true }).federation.test([rule], issuer, token())).toEqual({
    ...refused,
    problem: `the keys of the issuer "${issuer}" could not be fetched; try again later: no answer`,
  })
})

it.each(['', 'x', '.', 'x.y.z', `e30.${Buffer.from('{"iss":1}').toString('base64url')}.x`, 'e30.bnVsbA.x'])(
  '%j is no JWT with an issuer',
  (text) => {
    expect(readClaimed(text)).toBeUndefined()
  },
)

it('what a token claims is read up to its maximum length', () => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const of = (length: number) => `${part({ alg: 'ES256' })}.${part({ iss: 'i' })}.`.padEnd(length, 'x')
  expect(readClaimed(of(100))).toEqual({ iss: 'i', alg: 'ES256' })
  expect(readClaimed(of(maxTokenLength))).toEqual({ iss: 'i', alg: 'ES256' })
  expect(readClaimed(of(maxTokenLength + 1))).toBeUndefined()
})
