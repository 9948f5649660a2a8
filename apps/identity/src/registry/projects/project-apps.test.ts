/** What is stored of the app of a project, which addresses are refused, and which origins are known. */
import { type Statement, sql } from '@selvedge/service-kit/store'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type GrantStore, openGrantStore } from '../../../../../tests/harness/grants.ts'
import { appStatements, checkApp, createKnownOrigins, noApp, type ProjectApp, toApp } from './project-apps.ts'
import type { Stated } from './stated.ts'

let opened: GrantStore
beforeEach(async () => {
  opened = await openGrantStore(createFakeClock())
  await opened.store.transaction([
    sql`INSERT INTO accounts VALUES ('a', 'a@example.com', 0)`,
    ...['c', 'd'].map(
      (id) => sql`INSERT INTO projects (client_id, name, account_id, scopes, resources, active, created_at)
        VALUES (${id}, 'p', 'a', '', '', 1, 0)`,
    ),
  ])
})
afterEach(() => opened.close())

const app: ProjectApp = {
  ...{ appType: 'native', appUsers: 'anyone', idTokenSignedResponseAlg: 'RS256' },
  redirectUris: ['https://app.example/in'],
  postLogoutRedirectUris: ['https://app.example/out'],
  origins: ['https://app.example', 'https://www.app.example'],
}
const write = async (change: Stated<ProjectApp>, clientId = 'c') => {
  const statements: Statement[] = appStatements(clientId, change)
  if (statements.length > 0) await opened.store.transaction(statements)
}
const read = async (clientId = 'c') => {
  const [row] = await opened.store.run(
    sql`SELECT app_type, app_users, redirect_uris, post_logout_redirect_uris, origins, id_token_signed_response_alg FROM projects
      LEFT JOIN project_apps USING (client_id) LEFT JOIN project_id_tokens USING (client_id) WHERE client_id = ${clientId}`,
  )
  return toApp(row!)
}
const origins = async () =>
  (await opened.store.run(sql`SELECT origin FROM project_origins ORDER BY origin`)).map(
    ({ origin }) => origin,
  )

it('a project has no app until one is stated', async () => {
  expect(noApp).toEqual({
    ...{ appType: 'web', appUsers: 'account', redirectUris: [], postLogoutRedirectUris: [], origins: [] },
    idTokenSignedResponseAlg: 'ES256',
  })
  expect(await read()).toEqual(noApp)
  expect(toApp({})).toEqual(noApp)
  expect(appStatements('c', {})).toEqual([])
})

it('an app is read as it was written, and each change leaves the rest', async () => {
  await write(app)
  expect(await read()).toEqual(app)
  expect(await origins()).toEqual(app.origins)
  expect(await read('d')).toEqual(noApp)
  await write({ appUsers: 'account' })
  await write({ redirectUris: [] })
  expect(await read()).toEqual({ ...app, appUsers: 'account', redirectUris: [] })
  await write({ origins: [] })
  expect(await origins()).toEqual([])
  await write({ idTokenSignedResponseAlg: 'ES256' })
  expect((await read()).idTokenSignedResponseAlg).toBe('ES256')
  expect(await opened.store.run(sql`SELECT 1 AS one FROM project_id_tokens`)).toEqual([])
})

it.each<Stated<ProjectApp>>([
  { appType: 'native' },
  { appUsers: 'anyone' },
  { redirectUris: ['https://app.example/'] },
  { postLogoutRedirectUris: ['https://app.example/'] },
  { origins: ['https://app.example'] },
  { idTokenSignedResponseAlg: 'RS256' },
])('%j alone makes an app with defaults', async (change) => {
  await write(change)
  expect(await read()).toEqual({ ...noApp, ...change })
})

it('an address that is stated twice is stored once', async () => {
  await write({
    redirectUris: ['https://app.example/', 'https://app.example/'],
    origins: ['https://app.example', 'https://app.example'],
  })
  expect(await read()).toMatchObject({
    redirectUris: ['https://app.example/'],
    origins: ['https://app.example'],
  })
  expect(await origins()).toEqual(['https://app.example'])
})

it('nothing is written for a project that was removed', async () => {
  await write(app, 'removed')
  expect(await origins()).toEqual([])
  for (const table of ['project_apps', 'project_id_tokens'])
    expect(await opened.store.run({ sql: `SELECT 1 AS one FROM ${table}`, values: [] })).toEqual([])
})

it.each<[app: Partial<ProjectApp>, message: RegExp]>([
  [
    { redirectUris: ['https://app.example/', 'x'] },
    /^the redirect URI "x" cannot be used: it is not an absolute URI$/,
  ],
  [
    { postLogoutRedirectUris: ['x'] },
    /^the URI after a logout "x" cannot be used: it is not an absolute URI$/,
  ],
  [{ origins: ['https://app.example/'] }, /^the origin "https:\/\/app.example\/" cannot be used: /],
  // A private-use scheme is for native apps.
  [{ redirectUris: ['com.example.app:/in'] }, /^the redirect URI "com.example.app:\/in" cannot be used: /],
  [{ postLogoutRedirectUris: ['com.example.app:/out'] }, /^the URI after a logout "com.example.app:/],
])('an app with %j is refused', (more, message) => {
  expect(() => checkApp({ ...noApp, ...more })).toThrow(
    expect.objectContaining({ reason: 'invalid_params', message: expect.stringMatching(message) }),
  )
})

it('an app with addresses of its type is accepted', () => {
  expect(() => checkApp(app)).not.toThrow()
  expect(() => checkApp(noApp)).not.toThrow()
  expect(() => checkApp({ ...noApp, appType: 'native', redirectUris: ['com.example.app:/in'] })).not.toThrow()
})

it('an origin is known while an active project has it, also if it was unknown a moment before', async () => {
  const isKnown = createKnownOrigins(opened.store, opened.changes)
  const origin = 'https://app.example'
  const note = () => opened.changes.commit([], [['origin', origin]])
  expect(await isKnown(origin)).toBe(false)
  await write({ origins: [origin] })
  expect(await isKnown(origin)).toBe(false)
  await note()
  expect(await isKnown(origin)).toBe(true)
  expect(await isKnown('https://other.example')).toBe(false)
  await opened.store.run(sql`UPDATE projects SET active = 0`)
  await note()
  expect(await isKnown(origin)).toBe(false)
})
