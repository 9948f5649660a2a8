/** The approval of a terminal: which codes a person may try, and for which account it signs in. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type ConsoleStore,
  contextOf,
  openConsoleStore,
} from '../../../../../../tests/harness/console-calls.ts'
import { projectOf } from '../../../../../../tests/harness/grants.ts'
import type { Viewer } from '../context.ts'
import { deviceRequestHandlers } from './device-requests.ts'

let opened: ConsoleStore
let handlers: ReturnType<typeof deviceRequestHandlers>
let ada: Viewer
beforeEach(async () => {
  opened = await openConsoleStore()
  handlers = deviceRequestHandlers({ ...opened, codeTries: opened.limiterOf('code') })
  await opened.addProject('c', 'a')
  await opened.addProject('d', 'b')
  ada = await opened.viewerOf('ada')
})
afterEach(() => opened.close())

const wait = (clientId: string, address = '192.0.2.9') =>
  opened.deviceRequests.create({ clientId, scope: 'openid unknown', jkt: 'j', address, userAgent: 'curl' })
const find = (userCode: string, context = contextOf(ada)) =>
  handlers['device_request.find']({ userCode }, ada, context)
const decide = (userCode: string, approve = true) =>
  handlers['device_request.decide']({ userCode, approve }, ada, contextOf(ada))
const poll = async (deviceCode: string, clientId: string) =>
  (await opened.deviceRequests.poll(deviceCode, clientId)).outcome

it('a person sees what waits, and whether it comes from the own network', async () => {
  const { userCode } = await wait('c')
  expect(await find(userCode)).toMatchObject({
    ...{ clientId: 'c', clientName: 'project c', address: '192.0.2.9', isFromHere: false },
    scopes: [
      { name: 'openid', meaning: expect.stringMatching(/./) },
      { name: 'unknown', meaning: '' },
    ],
  })
  expect(await find((await wait('gone', '192.0.2.1')).userCode)).toMatchObject({
    clientName: 'gone',
    isFromHere: true,
  })
})

it('an approval signs the terminal in for the person, once', async () => {
  const { userCode, deviceCode } = await wait('c')
  expect(await decide(userCode)).toEqual({ done: true })
  expect(await opened.deviceRequests.poll(deviceCode, 'c')).toMatchObject({
    outcome: 'approved',
    approved: { personId: 'ada', accountId: 'a' },
  })
  await expect(decide(userCode)).rejects.toMatchObject({ reason: 'not_found' })
  expect(opened.audited()).toEqual(['ada device_request.decide c ok project c from 192.0.2.9'])
})

it('a refusal is final, also of a project of another account', async () => {
  const { userCode, deviceCode } = await wait('d')
  expect(await decide(userCode, false)).toEqual({ done: true })
  expect(await poll(deviceCode, 'd')).toBe('denied')
  expect(opened.audited()).toEqual(['ada device_request.decide d refused project d from 192.0.2.9'])
})

it('a terminal of a project of another account is not approved', async () => {
  const { userCode, deviceCode } = await wait('d')
  await expect(decide(userCode)).rejects.toMatchObject({ reason: 'not_found' })
  expect(await poll(deviceCode, 'd')).toBe('pending')
  expect(opened.audited()).toEqual([])
})

it('one of the command line is, and one that no project has', async () => {
  const projects = { ...opened.projects, find: async () => projectOf({ accountId: '', name: 'selvedge' }) }
  const codeTries = opened.limiterOf('code')
  handlers = deviceRequestHandlers({ ...opened, projects, codeTries })
  expect(await decide((await wait('cli')).userCode)).toEqual({ done: true })
  handlers = deviceRequestHandlers({ ...opened, codeTries })
  expect(await decide((await wait('gone')).userCode)).toEqual({ done: true })
  expect(opened.audited()).toEqual([
    'ada device_request.decide cli ok selvedge from 192.0.2.9',
    'ada device_request.decide gone ok gone from 192.0.2.9',
  ])
})

it('one that is decided at the same moment is not decided again', async () => {
  const { userCode } = await wait('c')
  const deviceRequests = { ...opened.deviceRequests, decide: async () => false }
  handlers = deviceRequestHandlers({ ...opened, deviceRequests, codeTries: opened.limiterOf('code') })
  await expect(decide(userCode)).rejects.toMatchObject({ reason: 'not_found' })
  expect(opened.audited()).toEqual([])
})

it('wrong codes are limited by person and by network, and right ones cost nothing', async () => {
  const { userCode } = await wait('c')
  for (let time = 0; time < 5; time++) await find(userCode)
  for (let time = 0; time < 2; time++)
    await expect(find('XXXX-XXXX')).rejects.toMatchObject({ reason: 'not_found' })
  const context = contextOf(ada)
  await expect(find(userCode, context)).rejects.toMatchObject({ reason: 'busy' })
  expect(context.retryAfter).toBe(10)
  // The same person from elsewhere, and another one from here.
  await expect(find(userCode, { ...contextOf(ada), address: '198.51.100.1' })).rejects.toMatchObject({
    reason: 'busy',
  })
  const bob = await opened.viewerOf('bob')
  await expect(handlers['device_request.find']({ userCode }, bob, contextOf(bob))).rejects.toMatchObject({
    reason: 'busy',
  })
})
