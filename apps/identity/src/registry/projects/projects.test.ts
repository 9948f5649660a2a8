/** Projects: what one has, what a change of it revokes, and what its removal leaves. Two owners at once are in the suite. */
import { cliClientId } from '@selvedge/protocol'
import { scopeNames } from '@selvedge/protocol/tokens'
import { sql } from '@selvedge/service-kit/store'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type GrantStore, openGrantStore } from '../../../../../tests/harness/grants.ts'
import { noApp } from './project-apps.ts'
import { createProjects, leasesOf, type Project, type Projects } from './projects.ts'

const clock = createFakeClock()
const start = clock.now()
let opened: GrantStore
let projects: Projects
let prepared: string[]
let noted: string[]

beforeEach(async () => {
  clock.set(start)
  opened = await openGrantStore(clock)
  prepared = []
  noted = []
  const keys = { prepare: async (algorithm: string) => void prepared.push(algorithm) }
  projects = createProjects({ ...opened, clock, keys, maxProjects: 2 })
  for (const topic of ['project', 'origin', 'lease'] as const)
    opened.changes.onChange(topic, (subject) => void noted.push(`${topic} ${subject}`))
  for (const id of ['a', 'b'])
    await opened.store.run(sql`INSERT INTO accounts VALUES (${id}, ${`${id}@example.com`}, 0)`)
})
afterEach(() => opened.close())

const run = (text: string) => opened.store.run({ sql: text, values: [] })
type New = Parameters<Projects['create']>[0]
const create = (more: Partial<New> = {}) =>
  projects.create({ name: 'p', accountId: 'a', scopes: ['openid'], resources: [], ...more })
const isRevoked = (client: string, more: object = {}) =>
  opened.revocations.reasonFor({ jti: 'x', iat: 0, ...more }, client) !== undefined
/** Whether leases of a project from before are revoked. */
const leaseEnded = async (clientId: string) =>
  (
    await opened.store.run(
      sql`SELECT 1 AS one FROM revocations WHERE kind = 'lease' AND subject = ${clientId}`,
    )
  ).length > 0

const plain = (clientId: string): Project => ({
  ...{ clientId, name: 'p', accountId: 'a', scopes: ['openid'], resources: [], active: true },
  ...{ createdAt: '2026-01-01T00:00:00.000Z', accessLifetime: 0, developerLifetime: 0, dpop: 'optional' },
  offline: { maxDays: 0, scopes: [] },
  ...noApp,
})

describe('a project', () => {
  it('has defaults, and is found by its client ID', async () => {
    const project = await create()
    expect(project).toEqual(plain(project.clientId))
    expect(await projects.find(project.clientId)).toEqual(project)
    expect(await projects.list('a')).toEqual([project])
    expect(await projects.find('unknown')).toBeUndefined()
    expect(prepared).toEqual(['ES256'])
  })

  it('is created with what is stated, and pages of its origins learn of it', async () => {
    const stated: Partial<New> = {
      ...{ scopes: [], resources: ['urn:x'], accessLifetime: 60, developerLifetime: 70, dpop: 'required' },
      ...{ appType: 'native', appUsers: 'anyone', redirectUris: ['com.example.app:/in'] },
      ...{ postLogoutRedirectUris: ['https://app.example/out'], idTokenSignedResponseAlg: 'RS256' },
      origins: ['https://app.example', 'https://www.app.example'],
    }
    const project = await create(stated)
    expect(project).toEqual({ ...plain(project.clientId), ...stated })
    expect(await projects.find(project.clientId)).toEqual(project)
    expect(prepared).toEqual(['RS256'])
    expect(noted).toEqual([
      `project ${project.clientId}`,
      'origin https://app.example',
      'origin https://www.app.example',
    ])
  })

  it('is created with its leases', async () => {
    const offline = { maxDays: 7, scopes: ['openid'] } as const
    const project = await create({ offline })
    expect(project.offline).toEqual(offline)
    expect(noted).toContain(`lease ${project.clientId}`)
    expect(await leaseEnded(project.clientId)).toBe(false)
  })

  it('with an address that an app may not have is not created', async () => {
    await expect(create({ redirectUris: ['x'] })).rejects.toMatchObject({ reason: 'invalid_params' })
    expect(await projects.list()).toEqual([])
    expect(prepared).toEqual([])
  })

  it('has a limit for its account', async () => {
    const first = await create()
    clock.advance(1)
    await create({ name: 'q' })
    await expect(create({ origins: ['https://app.example'] })).rejects.toMatchObject({
      reason: 'limit_exceeded',
      message: 'the account has 2 projects already',
      hint: 'Delete projects that are not needed any more, or ask the operator to raise limits.projects.',
    })
    expect(await run('SELECT 1 AS one FROM project_origins')).toEqual([])
    expect(noted).toEqual([])
    clock.advance(1)
    const other = await create({ accountId: 'b' })
    expect((await projects.list('a')).map(({ name }) => name)).toEqual(['p', 'q'])
    expect((await projects.list()).map(({ clientId }) => clientId)).toEqual([
      first.clientId,
      expect.any(String),
      other.clientId,
    ])
  })
})

it('the command line is a project of no account that cannot be changed', async () => {
  expect(await projects.find(cliClientId)).toEqual({
    ...plain(cliClientId),
    ...{ name: 'Selvedge command line', accountId: '', scopes: scopeNames },
    createdAt: '1970-01-01T00:00:00.000Z',
  })
  for (const clientId of [cliClientId, 'unknown'])
    await expect(projects.update(clientId, { name: 'x' })).rejects.toMatchObject({
      reason: 'not_found',
      message: `there is no project with the client ID ${clientId}`,
    })
})

describe('a change of a project', () => {
  const share = async (clientId: string) => {
    await run(
      `INSERT INTO nodes (node_id, name, account_id, hmac_node_key, hmac_cloud_key, hmac_secret, enrolled_at, last_seen_at)
        VALUES ('n', 'n', 'a', '', '', '', 0, 0)`,
    )
    await run(
      `INSERT INTO service_shares VALUES ('share', 'a', 'n', 0, '${clientId}', 's', 'guest', '', 'ada', 0, 9000000000000, NULL)`,
    )
  }

  it.each<Partial<Project>>([
    { name: 'renamed' },
    { scopes: [] },
    { scopes: ['edge:mcm', 'openid'] },
    { resources: ['urn:x'] },
    { active: false },
    { accessLifetime: 60 },
    { developerLifetime: 60 },
    { dpop: 'off' },
    { appUsers: 'anyone' },
    { redirectUris: ['https://app.example/'] },
    { offline: { maxDays: 3, scopes: ['openid'] } },
  ])('writes %j and nothing else, and is known at once', async (change) => {
    const [project, other] = [await create(), await create({ name: 'other' })]
    await projects.find(project.clientId)
    const changed = await projects.update(project.clientId, change)
    expect(changed).toEqual({ ...project, ...change })
    expect(await projects.find(project.clientId)).toEqual(changed)
    expect(await projects.find(other.clientId)).toEqual(other)
    expect(noted).toContain(`project ${project.clientId}`)
    expect(noted.includes(`lease ${project.clientId}`)).toBe(change.offline !== undefined)
  })

  it('turns a project on again', async () => {
    const { clientId } = await create()
    await projects.update(clientId, { active: false })
    expect((await projects.update(clientId, { active: true })).active).toBe(true)
  })

  it('prepares the keys of its algorithm, and refuses addresses that do not fit the type that is stored', async () => {
    const { clientId } = await create({ appType: 'web' })
    await projects.update(clientId, { idTokenSignedResponseAlg: 'RS256' })
    expect(prepared).toEqual(['ES256', 'RS256'])
    const redirectUris = ['com.example.app:/in']
    await expect(projects.update(clientId, { redirectUris })).rejects.toMatchObject({
      reason: 'invalid_params',
    })
    await projects.update(clientId, { redirectUris, appType: 'native' })
  })

  it('of origins is noted for those from before and those of now, each once', async () => {
    const { clientId } = await create({ origins: ['https://one.example', 'https://two.example'] })
    noted.length = 0
    await projects.update(clientId, { origins: ['https://two.example', 'https://three.example'] })
    expect(noted).toEqual([
      `project ${clientId}`,
      ...['one', 'two', 'three'].map((each) => `origin https://${each}.example`),
    ])
  })

  it('that turns a project off ends what was shared of its services, and another change does not', async () => {
    const { clientId } = await create()
    await share(clientId)
    await projects.update(clientId, { name: 'x' })
    expect(isRevoked(clientId, { jti: 'share' })).toBe(false)
    await projects.update(clientId, { active: false })
    expect(isRevoked(clientId, { jti: 'share' })).toBe(true)
  })

  const month = { maxDays: 30, scopes: ['openid', 'edge:mcm'] } as const

  it.each<[change: Partial<Project>, ends: boolean]>([
    [{ name: 'x' }, false],
    [{ offline: { ...month, maxDays: 31 } }, false],
    [{ offline: { ...month, maxDays: 29 } }, true],
    [{ offline: { ...month, scopes: ['openid'] } }, true],
    [{ offline: { maxDays: 0, scopes: [] } }, true],
    [{ active: false }, true],
    [{ dpop: 'off' }, true],
    [{ dpop: 'required' }, false],
    [{ appUsers: 'account' }, true],
    [{ appType: 'native' }, false],
  ])('to %j revokes the leases from before: %j', async (change, ends) => {
    const { clientId } = await create({ appUsers: 'anyone', offline: month })
    await projects.update(clientId, change)
    expect(await leaseEnded(clientId)).toBe(ends)
  })

  it('of a project without leases does not revoke any', async () => {
    const { clientId } = await create({ appUsers: 'anyone' })
    await projects.update(clientId, { appUsers: 'account', active: false })
    expect(await leaseEnded(clientId)).toBe(false)
  })

  it('to another audience than the account alone revokes no lease', async () => {
    const { clientId } = await create({ offline: month })
    await projects.update(clientId, { appUsers: 'anyone' })
    expect(await leaseEnded(clientId)).toBe(false)
  })
})

it('leases are of an active project that binds tokens to keys', () => {
  const offline = { maxDays: 1, scopes: ['openid'] } as const
  const none = { maxDays: 0, scopes: [] }
  expect(leasesOf({ active: true, dpop: 'optional', offline })).toBe(offline)
  expect(leasesOf({ active: true, dpop: 'required', offline })).toBe(offline)
  expect(leasesOf({ active: true, dpop: 'off', offline })).toEqual(none)
  expect(leasesOf({ active: false, dpop: 'optional', offline })).toEqual(none)
})

it('a removed project leaves nothing but the end of its leases, and every token of it is revoked', async () => {
  const stated = { origins: ['https://app.example'], offline: { maxDays: 30, scopes: ['openid'] } } as const
  const [{ clientId }, other] = [await create(stated), await create({ name: 'other' })]
  const rows = [
    "INSERT INTO pushed_requests VALUES ('h', 'c', '', '', 9)",
    "INSERT INTO authorization_codes VALUES ('h', 'id', 'c', '', '', '', '', '', '', '', 'a', 'bob', '', 0, 0, '', 9, NULL)",
    `INSERT INTO sign_ins (sid, client_id, account_id, person_id, email, node_id, origin, scope, audience, jkt, auth_time,
      created_at, expires_at, generation, rotations, last_used_at, described)
      VALUES ('id', 'c', 'a', 'bob', '', '', '', '', '""', '', 0, 0, 9, 0, '', 0, '')`,
    "INSERT INTO developer_tokens VALUES ('id', 'a', 'c', 0, 9, NULL, 'bob', NULL)",
  ]
  for (const row of rows) await run(row.replace("'c'", `'${clientId}'`))
  await run("INSERT INTO people VALUES ('bob', 'bob', '', 0)")
  await run("INSERT INTO sessions VALUES ('s', 'h', 'bob', 'a', 0, 'password', 0, 0, 9, '', '', 'key')")
  await run(`INSERT INTO app_consents VALUES ('s', '${clientId}', 'a', '')`)
  noted.length = 0
  await projects.remove(clientId)
  for (const table of [
    ...['pushed_requests', 'authorization_codes', 'app_consents', 'sign_ins', 'developer_tokens'],
    ...['project_apps', 'project_origins'],
  ])
    expect(await run(`SELECT 1 AS one FROM ${table}`), table).toEqual([])
  expect(await projects.list()).toEqual([other])
  expect(await projects.find(clientId)).toBeUndefined()
  expect([isRevoked(clientId), isRevoked(other.clientId)]).toEqual([true, false])
  expect(await run('SELECT max_days, leases_until FROM project_offline')).toEqual([
    { max_days: 0, leases_until: start + 30 * 86_400_000 },
  ])
  expect(noted).toEqual([`project ${clientId}`, 'origin https://app.example', `lease ${clientId}`])
  await projects.remove('unknown')
})
