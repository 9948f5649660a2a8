/** Projects: an account sees and changes its own only. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type ConsoleStore,
  contextOf,
  openConsoleStore,
} from '../../../../../../tests/harness/console-calls.ts'
import type { Viewer } from '../context.ts'
import { projectHandlers } from './projects.ts'

let opened: ConsoleStore
let handlers: ReturnType<typeof projectHandlers>
let ada: Viewer
beforeEach(async () => {
  opened = await openConsoleStore()
  handlers = projectHandlers({ ...opened, lifetimes: { access: 300, developer: 60 } })
  await opened.addProject('c', 'a')
  await opened.addProject('d', 'b')
  ada = await opened.viewerOf('ada')
})
afterEach(() => opened.close())

const settings = { name: 'van', scopes: ['openid'], resources: [] } as never as Parameters<
  (typeof handlers)['project.create']
>[0]

it('a project is made in the account, with the lifetimes of the service unless it has others', async () => {
  const made = await handlers['project.create'](settings, ada, contextOf(ada))
  expect(made).toMatchObject({ name: 'van', accessLifetime: 300, developerLifetime: 60 })
  expect(made).not.toHaveProperty('accountId')
  expect((await opened.projects.find(made.clientId))!).toMatchObject({
    accountId: 'a',
    offline: { maxDays: 0 },
  })
  const change = {
    clientId: made.clientId,
    accessLifetime: 30,
    developerLifetime: 40,
    offline: { maxDays: 2, scopes: ['openid'] },
  }
  const changed = await handlers['project.update'](change as never, ada, contextOf(ada))
  expect(changed).toMatchObject({ accessLifetime: 30, developerLifetime: 40, offline: { maxDays: 2 } })
  const offline = { maxDays: 3, scopes: ['openid'] }
  const leased = await handlers['project.create']({ ...settings, offline } as never, ada, contextOf(ada))
  expect(leased.offline).toEqual(offline)
  expect(opened.audited()).toMatchObject([
    `ada project.create ${made.clientId} ok van`,
    expect.stringMatching(
      `^ada project.update ${made.clientId} ok .*seconds: 60 → 40; leases: no leases → leases of at most 2 days for openid`,
    ),
    `ada project.create ${leased.clientId} ok van`,
  ])
  const listed = await handlers['project.list']({}, ada)
  expect(listed.map(({ clientId }) => clientId).sort()).toEqual(['c', made.clientId, leased.clientId].sort())
})

it('one of another account is neither changed, shown nor deleted', async () => {
  const foreign = { clientId: 'd' }
  const refused = { reason: 'not_found' }
  await expect(
    handlers['project.update']({ ...settings, ...foreign } as never, ada, contextOf(ada)),
  ).rejects.toMatchObject(refused)
  await expect(handlers['project.dependents'](foreign, ada)).rejects.toMatchObject(refused)
  await expect(handlers['project.delete'](foreign, ada, contextOf(ada))).rejects.toMatchObject(refused)
  await expect(handlers['project.delete']({ clientId: 'x' }, ada, contextOf(ada))).rejects.toMatchObject(
    refused,
  )
  expect(await opened.projects.find('d')).toMatchObject({ name: 'project d' })
  expect(opened.audited()).toEqual([])
})

it('is deleted, which is recorded by its name', async () => {
  expect(await handlers['project.delete']({ clientId: 'c' }, ada, contextOf(ada))).toEqual({ done: true })
  expect(await opened.projects.find('c')).toBeUndefined()
  expect(opened.audited()).toEqual(['ada project.delete c ok project c'])
})

it('shows what would go with it: live tokens, sign-ins and services of this project', async () => {
  await opened.addProject('e', 'a')
  const subject = { accountId: 'a', personId: 'ada', email: 'ada@example.com', authTime: 0 }
  const { jti } = await opened.developerTokens.issue(subject, 'c', 60)
  await opened.developerTokens.issue(subject, 'c', 60)
  await opened.developerTokens.issue(subject, 'e', 60)
  await opened.developerTokens.revoke(jti)
  await opened.addSignIn('s', 'c')
  await opened.addSignIn('t', 'e')
  await opened.addNode('n', 'a', [{ id: 'c-van' }, { id: 'e-van' }, { id: 'x-c-van' }])
  expect(await handlers['project.dependents']({ clientId: 'c' }, ada)).toEqual({
    developerTokens: 1,
    signIns: 1,
    services: [{ nodeId: 'n', nodeName: 'node n', id: 'c-van' }],
  })
})
