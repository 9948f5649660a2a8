/** What each kind of token must have: one claim at a time is missing or of another type. */
import { describe, expect, it } from 'vitest'
import * as leases from './leases.ts'
import * as profiles from './profiles.ts'
import {
  accessProfile,
  appIdProfile,
  type BaseClaims,
  developerIdProfile,
  discoveryAudience,
  edgeAudience,
  edgeIdProfile,
  personProfile,
  revocationsAudience,
  revocationsProfile,
  serviceProfile,
  type TokenProfile,
} from './profiles.ts'
import { timeAudience, timeProfile } from './time-token.ts'

const nodeId = 'a'.repeat(56)

interface Case {
  readonly profile: Omit<TokenProfile<BaseClaims>, 'claims'>
  readonly valid: Readonly<Record<string, unknown>>
  /** Claims that may be absent, each with a valid value. */
  readonly optional?: Readonly<Record<string, unknown>>
  /** Wrong values of each claim, and what the check returns for them. */
  readonly wrong: readonly (readonly [claim: string, values: readonly unknown[], problem: unknown])[]
}

const texts = (...claims: string[]): Case['wrong'] =>
  claims.map((claim) => [claim, ['', 1, null, undefined], `claim "${claim}" is not a non-empty string`])
const badNodeId = [
  'node_id',
  ['', 1, undefined, 'A'.repeat(56), 'a'.repeat(55), `${nodeId}a`, [nodeId]],
  'claim "node_id" is not a node ID',
] as const
const badKey = [
  'cnf',
  [null, {}, { jkt: '' }, { jkt: 1 }, 'x'],
  'claim "cnf.jkt" is not a thumbprint',
] as const
const badScope = ['scope', [1, null, ['openid']], 'claim "scope" is not a string'] as const

const cases: readonly Case[] = [
  {
    profile: developerIdProfile,
    valid: { sub: 's', account_id: 'a', auth_time: 0 },
    optional: { sid: 'x', scope: '' },
    wrong: [
      ...texts('sub', 'account_id'),
      ['auth_time', ['1', null, undefined], 'claim "auth_time" is not a number'],
      ['sid', ['', 1, null], 'claim "sid" is not a non-empty string'],
      badScope,
    ],
  },
  {
    profile: appIdProfile,
    valid: { sub: 's', account_id: 'a', sid: 'x', auth_time: 0 },
    optional: { nonce: 'n' },
    wrong: [
      ...texts('sub', 'account_id', 'sid'),
      ['nonce', ['', 1, null], 'claim "nonce" is not a non-empty string'],
      ['auth_time', ['1', null, undefined], 'claim "auth_time" is not a number'],
    ],
  },
  {
    profile: edgeIdProfile,
    valid: { sub: '', node_id: nodeId, node_name: '', cnf: { jkt: 'k' } },
    wrong: [
      ['sub', [1, null, undefined], 'claim "sub" is not a string'],
      badNodeId,
      ['node_name', [1, null, undefined], 'claim "node_name" is not a string'],
      badKey,
      ['cnf', [undefined], 'claim "cnf.jkt" is not a thumbprint'],
    ],
  },
  {
    profile: accessProfile,
    valid: { sub: 's', client_id: 'c', account_id: 'a', node_id: nodeId, scope: '' },
    optional: { cnf: { jkt: 'k' } },
    wrong: [
      ...texts('sub', 'client_id', 'account_id'),
      badNodeId,
      badKey,
      badScope,
      ['scope', [undefined], 'claim "scope" is not a string'],
    ],
  },
  {
    profile: personProfile,
    valid: { sub: 's', client_id: 'c', account_id: 'a', sid: 'x', scope: 'openid' },
    wrong: [
      ...texts('sub', 'client_id', 'account_id', 'sid'),
      badScope,
      ['scope', [undefined], 'claim "scope" is not a string'],
    ],
  },
  {
    profile: revocationsProfile,
    valid: { seq: 1, revoked: [], not_before: {} },
    optional: { since: 1, mark: 'm', restarted: true, ended: ['x'], epochs: { x: 1 } },
    wrong: [
      ['seq', [undefined, null, '1', 1.5, 2 ** 53], 'claim "seq" is not a whole number'],
      ['since', [null, '1', 1.5], 'claim "since" is not a whole number'],
      ['mark', [null, 1], 'claim "mark" is not a text'],
      ['restarted', [false, null, 'true'], 'claim "restarted" is not true'],
      ['revoked', [undefined, null, 'x', {}, ['x', 1]], 'claim "revoked" is not a list of texts'],
      ['ended', [null, 'x', ['x', 1]], expect.stringMatching(/"ended" is not a list of texts$/)],
      ['not_before', [undefined, null, 'x', 1], 'claim "not_before" is not an object'],
      ['not_before', [{ x: 1, y: '1' }, { x: 1.5 }], 'claim "not_before" holds no times'],
      ['epochs', [null, 'x', 1], 'claim "epochs" is not an object'],
      ['epochs', [{ x: 1, y: '1' }], 'claim "epochs" holds no numbers'],
    ],
  },
  {
    profile: serviceProfile,
    valid: { sub: 's', client_id: 'c', account_id: 'a' },
    wrong: texts('sub', 'client_id', 'account_id'),
  },
  {
    profile: timeProfile,
    valid: { nonce: 'n', time: 1 },
    wrong: [...texts('nonce'), ['time', [undefined, null, '1', 1.5], 'claim "time" is not a whole number']],
  },
]

describe.each(cases)('the claims of the type $profile.typ', ({ profile, valid, optional = {}, wrong }) => {
  it('are accepted with and without the optional ones', () => {
    expect(profile.check({ ...valid })).toBeUndefined()
    expect(profile.check({ ...valid, ...optional })).toBeUndefined()
    for (const [claim, value] of Object.entries(optional))
      expect(profile.check({ ...valid, [claim]: value })).toBeUndefined()
  })

  it.each(wrong)('are refused if %s is any of %j', (claim, values, problem) => {
    for (const value of values) expect(profile.check({ ...valid, [claim]: value })).toEqual(problem)
  })
})

it('each kind of token has its own type, name and longest life', () => {
  const day = 86_400
  expect([...cases.map(({ profile }) => [profile.label, profile.typ, profile.maxLifetime])]).toEqual([
    ['developer ID token', 'JWT', 366 * day],
    ['app ID token', 'app-id+jwt', day],
    ['edge ID token', 'edge-id+jwt', 3600],
    ['access token', 'at+jwt', day],
    ['access token', 'at+jwt', day],
    ['list of revoked tokens', 'revocations+jwt', 31 * day],
    ['service token', 'service+jwt', 600],
    ['signed time', 'time+jwt', 60],
  ])
})

it('each audience has the name that other programs know', () => {
  expect([edgeAudience, discoveryAudience, revocationsAudience, timeAudience]).toEqual([
    'urn:selvedge:edge',
    'urn:selvedge:discovery',
    'urn:selvedge:revocations',
    'urn:selvedge:time',
  ])
})

it('only the list of revoked tokens may be larger than a token, up to 16 MiB, and is judged by its number', () => {
  const special = cases.filter(({ profile }) => profile.maxLength !== undefined || profile.readerJudgesTimes)
  expect(special.map(({ profile }) => profile)).toEqual([revocationsProfile])
  expect(revocationsProfile).toMatchObject({ maxLength: 16_777_216, readerJudgesTimes: true })
})

it('only ID tokens of apps may have another algorithm than ES256, and only RS256', () => {
  const all = Object.entries({ ...profiles, ...leases, timeProfile }).filter(([name]) =>
    name.endsWith('Profile'),
  )
  expect(all.length).toBeGreaterThanOrEqual(10)
  const others = all.flatMap(([name, profile]) => {
    const { algorithms } = profile as TokenProfile<BaseClaims>
    return algorithms ? [[name, algorithms]] : []
  })
  expect(others).toEqual([['appIdProfile', ['ES256', 'RS256']]])
})
