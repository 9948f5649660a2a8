/** What people see of the rules of a project. */
import { expect, it } from 'vitest'
import type { TrustedIssuer } from '../../registry/projects/issuers.ts'
import { showIssuer, showIssuers } from './show-issuers.ts'

const rule = (issuerId: string, more: Partial<TrustedIssuer> = {}): TrustedIssuer => ({
  ...{ issuerId, clientId: 'c', issuer: 'https://issuer.example', audiences: ['a'], scopes: ['openid'] },
  ...{ as: 'workload', algorithms: ['RS256'], allowsPrivate: false, createdAt: 'x', notBefore: 0 },
  conditions: [{ claim: 'sub', value: 'repo:x/*' }],
  ...more,
})
const keys = { count: 1, fetchedAt: null, validUntil: null, problem: null }
const issuerKeys = { show: async () => keys } as never

it('a rule is shown with the state of its keys, and without subjects', async () => {
  const { notBefore, ...stated } = rule('i')
  expect(await showIssuer(rule('i'), issuerKeys)).toEqual({
    ...{ ...stated, revokedAt: null, warnings: [], keys, subjects: [] },
  })
})

it('a rule with a revocation has its time, and a condition that lets too many in has a warning', async () => {
  const shown = await showIssuer(
    rule('i', {
      notBefore: 86_400,
      conditions: [
        { claim: 'ref', value: 'main' },
        { claim: 'sub', value: 'repo:org*' },
      ],
    }),
    issuerKeys,
  )
  expect(shown.revokedAt).toBe('1970-01-02T00:00:00.000Z')
  expect(shown.warnings).toEqual([expect.stringContaining('repo:org-evil/')])
})

it('each rule of a project has its own subjects', async () => {
  const asked: unknown[] = []
  const subject = (issuerId: string, name: string) => ({
    issuerId,
    subject: name,
    email: null,
    lastUsedAt: null,
  })
  const shown = await showIssuers(
    {
      issuerKeys,
      trustedIssuers: {
        async list(id: unknown) {
          asked.push(id)
          return [rule('i'), rule('j')]
        },
      } as never,
      federatedSubjects: {
        async list(id: unknown) {
          asked.push(id)
          return [subject('j', 'one'), subject('i', 'two'), subject('j', 'three')]
        },
      } as never,
    },
    'c',
  )
  expect(asked).toEqual(['c', 'c'])
  expect(shown.map(({ issuerId, subjects }) => [issuerId, subjects])).toEqual([
    ['i', [{ subject: 'two', email: null, lastUsedAt: null }]],
    [
      'j',
      [
        { subject: 'one', email: null, lastUsedAt: null },
        { subject: 'three', email: null, lastUsedAt: null },
      ],
    ],
  ])
})
