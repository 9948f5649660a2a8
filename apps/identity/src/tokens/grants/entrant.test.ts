/** Who an ID token lets in at the token endpoint: a developer of this service, or a subject of a trusted issuer. */
import { type DeveloperIdClaims, developerIdProfile, leeway, TokenError } from '@selvedge/protocol/tokens'
import { seconds } from '@selvedge/service-kit/clock'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { signJws } from '@selvedge/service-kit/tokens'
import { beforeEach, describe, expect, it } from 'vitest'
import { createTestIssuer, outcomeOfAnswer } from '../../../../../tests/harness/grants.ts'
import type { TrustedIssuer } from '../../registry/projects/issuers.ts'
import { readClaimed } from '../federation/read-claimed.ts'
import { createAdmit } from './entrant.ts'

const clock = createFakeClock()
const { issuer, privateKey, verifier } = createTestIssuer(clock)
const ci = 'https://ci.example'
const project = { clientId: 'c', accountId: 'a' } as never

const developer = (change: Partial<DeveloperIdClaims> = {}): string =>
  signJws(
    { typ: developerIdProfile.typ, kid: 'k' },
    {
      iss: issuer,
      sub: 'a',
      aud: 'c',
      iat: seconds(clock),
      exp: seconds(clock) + 60,
      jti: 'developer',
      account_id: 'of the token',
      email: 'dev@example.com',
      auth_time: 7,
      ...change,
    },
    privateKey,
  )
/** Its signature is not checked: `letIn` is replaced. */
const foreign = (iss: unknown = ci): string =>
  [{ alg: 'RS256' }, { iss }].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')

let rules: Pick<TrustedIssuer, 'issuer' | 'as'>[]
/** Claims of the token that a rule lets in. */
let claims: { iss: string; sub: string; iat: number; auth_time?: number }
let isLate: boolean
let reason: string | undefined
/** What was asked for whether it was revoked, let in, and noted as used. */
let asked: unknown[]
let letIn: unknown[][]
let used: string[]
beforeEach(() => {
  rules = [{ issuer: ci, as: 'workload' }]
  claims = { iss: ci, sub: 'repo:org/app', iat: 1000 }
  isLate = false
  reason = undefined
  asked = []
  letIn = []
  used = []
})

const admit = createAdmit({
  issuer: () => issuer,
  developerTokens: { noteUse: (jti) => void used.push(`developer ${jti}`) },
  revocations: {
    reasonFor(...of) {
      asked.push(of)
      return reason
    },
  },
  developerVerifier: verifier,
  trustedIssuers: { of: () => (isLate ? Promise.resolve({ rules }) : { rules }) as never },
  federatedSubjects: { noteUse: (subjectId) => void used.push(`subject ${subjectId}`) },
  federation: {
    readClaimed,
    letIn: async (...of) => {
      letIn.push(of)
      const subject = { subjectId: 'x', sid: 's', notBefore: 0, personId: 'ada', email: 'ada@example.com' }
      return { rule: rules[0], claims, subject } as never
    },
  },
})
const outcomeOf = (token: string, scope = 'openid') => outcomeOfAnswer(() => admit(project, token, scope))

describe.each([
  ['without rules', () => []],
  ['with rules', () => [{ issuer: ci, as: 'workload' as const }]],
  // The URL of this service in a rule would let its own tokens in by weaker checks.
  ['with a rule for this service', () => [{ issuer, as: 'workload' as const }]],
])('a developer ID token in a project %s', (_, rulesOf) => {
  beforeEach(() => {
    rules = rulesOf()
  })

  it('lets the developer in, and is noted once a token was issued', async () => {
    const { noteUse, ...entrant } = await admit(project, developer(), 'openid')
    expect(entrant).toEqual({
      accountId: 'of the token',
      personId: '',
      email: 'dev@example.com',
      authTime: 7,
      subject: undefined,
      origin: 'developer',
    })
    expect([used, letIn]).toEqual([[], []])
    noteUse()
    expect(used).toEqual(['developer developer'])
  })

  it('is revoked with the sign-in that it came from, if there is one', async () => {
    expect(await admit(project, developer({ sid: 'sign-in' }), 'openid')).toMatchObject({ origin: 'sign-in' })
  })

  it('is refused if it was revoked, its client included', async () => {
    reason = 'everything'
    expect(await outcomeOf(developer())).toBe('token_revoked')
    expect(asked).toEqual([[expect.objectContaining({ jti: 'developer' }), 'c']])
  })

  it('gives no scope that it was not approved for', async () => {
    const token = developer({ scope: 'openid' } as never)
    expect(await outcomeOf(token)).toBe('accepted')
    expect(await outcomeOf(token, 'openid edge:mcm')).toBe('invalid_scope')
  })

  it('of another project, or with another signature, is refused by its own reason', async () => {
    const wrong = [developer({ aud: 'other' }), `${developer().slice(0, -4)}AAAA`]
    for (const token of wrong) {
      const refused = admit(project, token, 'openid')
      await expect(refused).rejects.toThrow(/not meant for|signature/)
    }
    expect(await outcomeOf('nonsense')).toBe('token_malformed')
  })
})

describe('a token of an issuer that the project does not trust', () => {
  it.each([[[]], [[{ issuer: 'https://other.example', as: 'workload' as const }]]])(
    'is refused with the name of the issuer, with the rules %j',
    async (of) => {
      rules = of
      const refused = admit(project, foreign(), 'openid')
      await expect(refused).rejects.toThrow(
        expect.objectContaining({ reason: 'token_untrusted', message: expect.stringContaining(`"${ci}"`) }),
      )
      await expect(refused).rejects.toBeInstanceOf(TokenError)
      expect(letIn).toEqual([])
    },
  )

  it('is not named if it states no issuer, or this one', async () => {
    expect(await outcomeOf(foreign(null))).not.toBe('token_untrusted')
    expect(await outcomeOf(foreign(issuer))).not.toBe('token_untrusted')
  })

  it('is not explained if the failure is not of the token', async () => {
    const failure = new Error('the database is gone')
    const failing = createAdmit({
      issuer: () => issuer,
      developerVerifier: {
        verify: async () => {
          throw failure
        },
      } as never,
      trustedIssuers: { of: () => ({ rules: [] }) },
      federation: { readClaimed: () => ({ iss: ci, alg: 'RS256' }), letIn: () => expect.unreachable() },
    } as never)
    await expect(failing(project, foreign(), 'openid')).rejects.toBe(failure)
  })
})

describe.each([false, true])('a token of a trusted issuer (rules from the database: %j)', (fromDatabase) => {
  beforeEach(() => {
    isLate = fromDatabase
  })

  it('lets a workload act for the account of the project, under its own name', async () => {
    rules.unshift({ issuer: 'https://other.example', as: 'workload' })
    const { noteUse, ...entrant } = await admit(project, foreign(), 'edge:mcm')
    expect(entrant).toEqual({
      accountId: 'a',
      personId: 'ada',
      email: 'ada@example.com',
      authTime: 1000,
      subject: `${ci}#repo:org/app`,
      origin: 's',
    })
    expect(letIn).toEqual([[project, { rules }, { iss: ci, alg: 'RS256' }, foreign(), 'edge:mcm']])
    noteUse()
    expect(used).toEqual(['subject x'])
  })

  it('lets a person act for themselves, with the time of their sign-in', async () => {
    rules = [{ issuer: ci, as: 'person' }]
    claims = { ...claims, auth_time: 900 }
    expect(await admit(project, foreign(), 'openid')).toMatchObject({ subject: undefined, authTime: 900 })
  })

  it('is refused if its subject, account or client was revoked since, by the time of a clock that is ahead', async () => {
    reason = 'everything'
    expect(await outcomeOf(foreign())).toBe('token_revoked')
    expect(asked).toEqual([[{ jti: 's', iat: 1000 - leeway, account_id: 'a', client_id: 'c' }, undefined]])
  })
})
