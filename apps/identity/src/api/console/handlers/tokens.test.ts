/** Developer ID tokens: of projects of the account only, and each change recorded. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type ConsoleStore,
  contextOf,
  openConsoleStore,
} from '../../../../../../tests/harness/console-calls.ts'
import type { Viewer } from '../context.ts'
import { tokenHandlers } from './tokens.ts'

let opened: ConsoleStore
let handlers: ReturnType<typeof tokenHandlers>
let ada: Viewer
beforeEach(async () => {
  opened = await openConsoleStore()
  handlers = tokenHandlers({ ...opened, developerLifetimeSeconds: 60 })
  await opened.addProject('c', 'a')
  await opened.addProject('d', 'b')
  ada = await opened.viewerOf('ada')
})
afterEach(() => opened.close())

const create = (clientId: string) => handlers['token.create']({ clientId }, ada, contextOf(ada))
const list = (viewer = ada) => handlers['token.list']({}, viewer)
const revoke = (jti: string, viewer = ada) => handlers['token.revoke']({ jti }, viewer, contextOf(viewer))

it('a token is for the person, and has the lifetime of the project, else that of the service', async () => {
  const made = await create('c')
  expect(JSON.parse(made.idToken)).toMatchObject({ sub: 'a', email: 'ada@example.com', aud: 'c' })
  expect(made.expiresAt).toBe('2026-01-01T00:01:00.000Z')
  await opened.projects.update('c', { developerLifetime: 120 })
  expect((await create('c')).expiresAt).toBe('2026-01-01T00:02:00.000Z')
  expect(opened.audited()).toContain(`ada developer_token.create ${made.jti} ok project c`)
})

it('is listed with the names of its project and person, also when the person has left', async () => {
  const { jti } = await create('c')
  const [token] = await list()
  expect(token).toMatchObject({ jti, clientId: 'c', projectName: 'project c', madeBy: 'ada@example.com' })
  expect(token).not.toHaveProperty('accountId')
  expect(token).not.toHaveProperty('personId')
  expect(await list(await opened.viewerOf('cy', 'b'))).toEqual([])
  await opened.run("UPDATE developer_tokens SET person_id = 'gone'")
  await opened.run("UPDATE members SET role = 'owner'")
  expect(await list()).toMatchObject([{ madeBy: 'a former member' }])
})

it('is not made for a project of another account, or one that is disabled', async () => {
  await expect(create('d')).rejects.toMatchObject({ reason: 'not_found' })
  await opened.projects.update('c', { active: false })
  await expect(create('c')).rejects.toMatchObject({ reason: 'conflict' })
  expect(opened.audited()).toEqual([])
})

it('is revoked by its account only, which is recorded once', async () => {
  const { jti } = await create('c')
  await expect(revoke(jti, await opened.viewerOf('cy', 'b'))).rejects.toMatchObject({ reason: 'not_found' })
  await expect(revoke('unknown')).rejects.toMatchObject({ reason: 'not_found' })
  expect(await opened.developerTokens.find(jti)).toMatchObject({ revokedAt: null })
  for (let time = 0; time < 2; time++) expect(await revoke(jti)).toEqual({ done: true })
  expect((await opened.developerTokens.find(jti))!.revokedAt).not.toBeNull()
  expect(opened.audited().slice(1)).toEqual([`ada developer_token.revoke ${jti} ok project c`])
})
