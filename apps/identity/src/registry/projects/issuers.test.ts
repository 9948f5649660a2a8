/** Rules by which a project trusts an issuer: which may be made, and what their end revokes. Replicas are in the suite. */
import { sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type GrantStore, openGrantStore } from '../../../../../tests/harness/grants.ts'
import { createFederatedSubjects, type FederatedSubjects } from './federated-subjects.ts'
import { createTrustedIssuers, type TrustedIssuer, type TrustedIssuers } from './issuers.ts'
import { maxSubjects } from './subject-statements.ts'

const day = 86_400_000
const clock = createFakeClock()
const start = clock.now()
let opened: GrantStore
let issuers: TrustedIssuers
let subjects: FederatedSubjects

beforeEach(async () => {
  clock.set(start)
  opened = await openGrantStore(clock)
  const { store } = opened
  issuers = createTrustedIssuers({ ...opened, clock, issuer: () => 'https://own.example', maxIssuers: 3 })
  subjects = createFederatedSubjects({ store, clock, log: createMemoryLog() })
  await store.transaction([
    sql`INSERT INTO accounts VALUES ('a', 'a@example.com', 0)`,
    ...['ada', 'eve'].map((id) => sql`INSERT INTO people VALUES (${id}, ${`${id}@example.com`}, '', 0)`),
    sql`INSERT INTO members VALUES ('a', 'ada', 'owner', 0)`,
    ...['c', 'd'].map(
      (id) => sql`INSERT INTO projects (client_id, name, account_id, scopes, resources, active, created_at)
        VALUES (${id}, 'p', 'a', '', '', 1, 0)`,
    ),
  ])
})
afterEach(() => opened.close())

type Stated = Parameters<TrustedIssuers['create']>[0]

const stated: Stated = {
  ...{ clientId: 'c', issuer: 'https://issuer.example', audiences: ['one', 'two'], as: 'workload' },
  conditions: [
    { claim: 'sub', value: 's' },
    { claim: 'ref', value: 'main' },
  ],
  ...{ scopes: ['openid', 'edge:mcm'], algorithms: ['RS256', 'EdDSA'], allowsPrivate: false },
}

const create = (more: Partial<Stated> = {}) => issuers.create({ ...stated, ...more })
const isRevoked = (jti: string) => opened.revocations.reasonFor({ jti, iat: 0 }) !== undefined
const workload = async (rule: TrustedIssuer, subject: string) =>
  subjects.workload(await issuers.of(rule.clientId), rule, 'a', subject)

describe('a rule', () => {
  it('is stored as it was made, for its project', async () => {
    const rule = await create()
    expect(rule).toEqual({
      ...stated,
      ...{ issuerId: expect.any(String), createdAt: '2026-01-01T00:00:00.000Z', notBefore: 0 },
    })
    expect(await issuers.of('c')).toEqual({ rules: [rule] })
    expect(await issuers.of('d')).toEqual({ rules: [] })
    expect(await issuers.list('c')).toEqual([rule])
    expect(await issuers.list('d')).toEqual([])
    expect(await issuers.list()).toEqual([rule])
    expect(await create({ scopes: [], allowsPrivate: true })).toMatchObject({
      scopes: [],
      allowsPrivate: true,
    })
  })

  it('of each project are listed from the oldest to the newest', async () => {
    const first = await create()
    clock.advance(1)
    const other = await create({ clientId: 'd' })
    clock.advance(1)
    const last = await create({ audiences: ['three'] })
    expect(await issuers.list('c')).toEqual([first, last])
    expect(await issuers.list()).toEqual([first, other, last])
  })

  it('is known at once, also if the rules of the project are in memory', async () => {
    const before = await issuers.of('c')
    expect(await issuers.of('c')).toBe(before)
    await create()
    expect((await issuers.of('c')).rules).toHaveLength(1)
  })

  it.each<[refused: Partial<Stated>, message: RegExp]>([
    [{ issuer: 'issuer.example' }, /^the issuer "issuer.example" cannot be trusted: it is not a URL/],
    [{ issuer: 'http://issuer.example' }, /^the issuer "http:\/\/issuer.example" does not begin with https:/],
    [{ issuer: 'https://own.example' }, /^the issuer is this service itself/],
    [
      {
        conditions: [
          { claim: 'sub', value: 's' },
          { claim: 'iss', value: 'x' },
        ],
      },
      /^the claim "iss" is checked/,
    ],
    [{ scopes: ['openid', 'offline_access'] }, /^a workload gets no refresh token/],
  ])('with %j is refused', async (refused, message) => {
    await expect(create(refused)).rejects.toMatchObject({
      reason: 'invalid_params',
      message: expect.stringMatching(message),
    })
    expect(await issuers.list()).toEqual([])
  })

  it.each<Partial<Stated>>([
    { issuer: 'http://issuer.example', allowsPrivate: true },
    { scopes: ['offline_access'], as: 'person' },
  ])('with %j is accepted', async (accepted) => {
    expect(await create(accepted)).toMatchObject(accepted)
  })

  it('is made once, in whatever order its parts are', async () => {
    await create()
    for (const same of [
      {},
      { audiences: ['two', 'one'] },
      { conditions: stated.conditions.toReversed() },
      { scopes: ['edge:mcm', 'openid'] },
      { algorithms: ['EdDSA', 'RS256'] as const },
    ])
      await expect(create(same)).rejects.toMatchObject({
        reason: 'already_exists',
        message: 'the project has this rule already',
      })
    await create({ clientId: 'd' })
  })

  it.each<Partial<Stated>>([
    { issuer: 'https://other.example' },
    { audiences: ['one'] },
    { conditions: [{ claim: 'sub', value: 's' }] },
    {
      conditions: [
        { claim: 'sub', value: 't' },
        { claim: 'ref', value: 'main' },
      ],
    },
    { scopes: ['openid'] },
    { as: 'person' },
    { algorithms: ['RS256'] },
    { allowsPrivate: true },
  ])('with %j is another one', async (more) => {
    await create()
    await create(more)
    expect(await issuers.list('c')).toHaveLength(2)
  })

  it('has a limit of rules of its project; removed ones do not count', async () => {
    const rule = await create()
    for (const audience of ['x', 'y']) await create({ audiences: [audience] })
    const more = () => create({ audiences: ['z'] })
    await expect(more()).rejects.toMatchObject({
      reason: 'limit_exceeded',
      message: 'the project has 3 trusted issuers already',
      hint: 'Remove rules that are not needed any more, or ask the operator to raise limits.issuers.',
    })
    await create({ clientId: 'd' })
    await issuers.end([rule], { remove: true })
    await more()
  })
})

describe('the end of rules', () => {
  it('removes them, and revokes what each of their subjects was issued', async () => {
    const [one, other, foreign] = [
      await create(),
      await create({ as: 'person' }),
      await create({ clientId: 'd' }),
    ]
    const sids = await Promise.all([one, other, foreign].map(async (rule) => (await workload(rule, 's')).sid))
    await issuers.end([one, other], { remove: true })
    expect((await issuers.of('c')).rules).toEqual([])
    expect((await issuers.of('d')).rules).toEqual([foreign])
    expect(sids.map(isRevoked)).toEqual([true, true, false])
  })

  it('may only revoke: ID tokens from before are refused from then on', async () => {
    const rule = await create()
    const { sid } = await workload(rule, 's')
    clock.advance(2000)
    await issuers.end([rule], {})
    const notBefore = start / 1000 + 3
    expect((await issuers.of('c')).rules).toEqual([{ ...rule, notBefore }])
    const again = await workload(rule, 's')
    expect([isRevoked(sid), isRevoked(again.sid)]).toEqual([true, false])
    expect(again).toMatchObject({ sid: sid.replace(/\.0$/, '.1'), notBefore })
  })

  it('for one subject leaves the rule and its other subjects', async () => {
    const rule = await create()
    const [one, other] = [await workload(rule, 's'), await workload(rule, 't')]
    await issuers.end([rule], { subject: 's' })
    expect([isRevoked(one.sid), isRevoked(other.sid)]).toEqual([true, false])
    expect((await issuers.of('c')).rules).toEqual([rule])
    expect((await workload(rule, 't')).sid).toBe(other.sid)
    expect((await workload(rule, 's')).notBefore).toBe(start / 1000 + 1)
  })
})

describe('a workload', () => {
  it('is the same in memory and after it, and another one by another rule or with another subject', async () => {
    const [rule, other] = [await create(), await create({ audiences: ['x'] })]
    const found = await workload(rule, 's')
    expect(found).toEqual({
      ...{
        subjectId: expect.any(String),
        sid: `${found.subjectId}.0`,
        notBefore: 0,
        personId: '',
        email: '',
      },
    })
    expect(await workload(rule, 's')).toBe(found)
    const of = { rules: [] }
    expect(await subjects.workload(of, rule, 'a', 's')).toEqual(found)
    expect((await workload(rule, 'S')).subjectId).not.toBe(found.subjectId)
    expect((await workload(other, 's')).subjectId).not.toBe(found.subjectId)
  })

  it('is written again before half a day has passed since the last time', async () => {
    const rule = await create()
    await workload(rule, 's')
    const usedAt = async () =>
      (await opened.store.run(sql`SELECT last_used_at FROM federated_subjects`))[0]!.last_used_at
    expect(await usedAt()).toBe(start)
    clock.advance(day / 2 - 1)
    await workload(rule, 's')
    expect(await usedAt()).toBe(start)
    clock.advance(1)
    await workload(rule, 's')
    expect(await usedAt()).toBe(start + day / 2)
    clock.set(start - day)
    await workload(rule, 's')
    expect(await usedAt()).toBe(start - day)
  })

  it('beyond the limit of its rule is refused for an hour, and a known one is not', async () => {
    const rule = await create()
    await workload(rule, 'known')
    await opened.store.run(sql`WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${maxSubjects})
      INSERT INTO federated_subjects SELECT 'id ' || i, ${rule.issuerId}, 'a', 'sub ' || i, '', 0, 0, 0, 0 FROM n`)
    await expect(workload(rule, 'new')).rejects.toMatchObject({
      code: 'temporarily_unavailable',
      message: 'the rule has 10000 workloads; one that does not come for a week is forgotten',
      retryAfter: 3600,
    })
    await expect(subjects.linkPerson(rule, 'a', 'new', 'ada')).rejects.toMatchObject({
      reason: 'limit_exceeded',
      message: 'the rule has 10000 subjects already',
    })
    expect(await subjects.workload({ rules: [] }, rule, 'a', 'known')).toMatchObject({ personId: '' })
  })

  it('that does not come for a week is forgotten, and a linked person is not', async () => {
    const rule = await create()
    await workload(rule, 's')
    await subjects.linkPerson(rule, 'a', 'linked', 'ada')
    expect(subjects.task.name).toBe('federated_subjects.last_used_at')
    await subjects.task.run(start + 7 * day - 1)
    expect((await subjects.list()).map(({ subject }) => subject)).toEqual(['s', 'linked'])
    await subjects.task.run(start + 7 * day)
    expect((await subjects.list()).map(({ subject }) => subject)).toEqual(['linked'])
  })
})

describe('a person by a rule', () => {
  it('is the linked one, while a member of the account', async () => {
    const [rule, other] = [await create({ as: 'person' }), await create()]
    expect(await subjects.person(rule, 's')).toBeUndefined()
    await subjects.linkPerson(rule, 'a', 's', 'ada')
    const found = (await subjects.person(rule, 's'))!
    expect(found).toMatchObject({ sid: `${found.subjectId}.0`, personId: 'ada', email: 'ada@example.com' })
    expect(await subjects.person(rule, 't')).toBeUndefined()
    expect(await subjects.person(other, 's')).toBeUndefined()
    await subjects.linkPerson(rule, 'a', 'stranger', 'eve')
    expect(await subjects.person(rule, 'stranger')).toBeUndefined()
    await opened.store.run(sql`DELETE FROM members`)
    expect(await subjects.person(rule, 's')).toBeUndefined()
  })

  it('is linked to one subject at a time: a workload becomes the person, in its next generation', async () => {
    const rule = await create({ as: 'person' })
    const before = await workload(rule, 's')
    await subjects.linkPerson(rule, 'a', 's', 'ada')
    expect(await subjects.person(rule, 's')).toMatchObject({
      subjectId: before.subjectId,
      sid: `${before.subjectId}.1`,
    })
    await subjects.linkPerson(rule, 'a', 's', 'ada')
    await expect(subjects.linkPerson(rule, 'a', 's', 'eve')).rejects.toMatchObject({
      reason: 'already_exists',
      message: 'the subject is linked to another person',
      hint: 'Unlink it first.',
    })
    expect(await subjects.person(rule, 's')).toMatchObject({ personId: 'ada' })
  })

  it('is unlinked once', async () => {
    const rule = await create({ as: 'person' })
    await subjects.linkPerson(rule, 'a', 's', 'ada')
    await subjects.linkPerson(rule, 'a', 't', 'ada')
    await subjects.unlinkPerson(rule, 's')
    expect(await subjects.person(rule, 's')).toBeUndefined()
    expect(await subjects.person(rule, 't')).toBeDefined()
    for (const subject of ['s', 'unknown'])
      await expect(subjects.unlinkPerson(rule, subject)).rejects.toMatchObject({
        reason: 'not_found',
        message: 'the subject is linked to no person by this rule',
      })
  })

  it('is written as used at the first sign-in, and again after half a day', async () => {
    const rule = await create({ as: 'person' })
    await subjects.linkPerson(rule, 'a', 's', 'ada')
    const usedAt = async () => (await subjects.list('c'))[0]!.lastUsedAt
    expect(await usedAt()).toBeNull()
    await subjects.person(rule, 's')
    expect(await usedAt()).toBe('2026-01-01T00:00:00.000Z')
    clock.advance(day / 2)
    await subjects.person(rule, 's')
    expect(await usedAt()).toBe('2026-01-01T00:00:00.000Z')
    clock.advance(1)
    await subjects.person(rule, 's')
    expect(await usedAt()).toBe('2026-01-01T12:00:00.001Z')
  })
})

it('a list has the subjects of a project or of all, the last used first, without those of removed rules', async () => {
  const [rule, foreign] = [await create({ as: 'person' }), await create({ clientId: 'd' })]
  await subjects.linkPerson(rule, 'a', 'person', 'ada')
  await workload(rule, 'early')
  clock.advance(1000)
  await workload(foreign, 'late')
  const early = {
    issuerId: rule.issuerId,
    subject: 'early',
    email: null,
    lastUsedAt: '2026-01-01T00:00:00.000Z',
  }
  const person = { issuerId: rule.issuerId, subject: 'person', email: 'ada@example.com', lastUsedAt: null }
  expect(await subjects.list('c')).toEqual([early, person])
  expect((await subjects.list()).map(({ subject }) => subject)).toEqual(['late', 'early', 'person'])
  expect(await subjects.list('e')).toEqual([])
  await issuers.end([rule], { remove: true })
  expect((await subjects.list()).map(({ subject }) => subject)).toEqual(['late'])
})
