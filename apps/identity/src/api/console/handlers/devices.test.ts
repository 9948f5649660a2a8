/** Devices: an account sees and changes its own only, and each change is recorded. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type ConsoleStore,
  contextOf,
  openConsoleStore,
} from '../../../../../../tests/harness/console-calls.ts'
import type { Viewer } from '../context.ts'
import { createDeviceStates } from '../device-states.ts'
import { deviceHandlers } from './devices.ts'

let opened: ConsoleStore
let handlers: ReturnType<typeof deviceHandlers>
let ada: Viewer
/** What was called at the registry of devices, which has tests of its own. */
let called: unknown[][]
let trackOf: { data: string[]; until: string } | undefined
const fix = { ...{ devices: ['shown'], hasPlaces: true } } as never
beforeEach(async () => {
  opened = await openConsoleStore()
  called = []
  trackOf = undefined
  const note =
    (name: string, answer?: unknown) =>
    async (...given: unknown[]) => {
      called.push([name, ...given])
      return answer
    }
  handlers = deviceHandlers({
    ...opened,
    nodes: {
      ...opened.nodes,
      page: note('page', { nodes: ['n'], count: 1 }),
      setBlocked: note('setBlocked'),
      removeAccount: note('removeAccount'),
    } as never,
    labels: {
      find: note('label', { name: 'old', tags: ['t'] }),
      set: note('set'),
      tag: note('tag'),
    } as never,
    vitals: {
      find: async (_: string, nodeId: string) =>
        nodeId === 'n' ? { vitals: { cpu: 1 }, statedAt: 0 } : undefined,
    } as never,
    revocations: { revokeAll: note('revokeAll') } as never,
    facets: note('facets', 'facets') as never,
    show: note('show', fix) as never,
    places: { track: async () => trackOf } as never,
    states: createDeviceStates(opened.clock, 600),
    history: { list: async () => [] },
    attention: note('attention', { lastSeenAt: null }) as never,
  })
  await opened.addNode('n', 'a')
  await opened.addNode('m', 'a')
  await opened.addNode('x', 'b')
  ada = await opened.viewerOf('ada')
})
afterEach(() => opened.close())

const done = { done: true }
const one = (name: 'block' | 'unblock' | 'revoke' | 'disassociate', nodeId: string) =>
  handlers[`device.${name}`]({ nodeId }, ada, contextOf(ada))

it.each([
  ['block', ['setBlocked', 'n', true]],
  ['unblock', ['setBlocked', 'n', false]],
  ['revoke', ['revokeAll', 'node', 'n']],
  ['disassociate', ['removeAccount', 'n']],
] as const)('an owner may %s a device', async (name, call) => {
  expect(await one(name, 'n')).toEqual(done)
  expect(called).toEqual([call])
  expect(opened.audited()).toEqual([`ada device.${name} n ok`])
})

it('a device of another account is neither seen nor changed', async () => {
  const x = { nodeId: 'x' }
  const context = contextOf(ada)
  const calls = [
    ...(['block', 'unblock', 'revoke', 'disassociate'] as const).map((name) => () => one(name, 'x')),
    () => one('block', 'unknown'),
    () => handlers['device.get'](x, ada),
    () => handlers['device.track'](x, ada),
    () => handlers['device.label']({ ...x, label: 'van', tags: [] }, ada, context),
  ]
  for (const call of calls) await expect(call()).rejects.toMatchObject({ reason: 'not_found' })
  const refused = { done: ['n'], failed: [{ nodeId: 'x', reason: 'not_found' }] }
  for (const name of ['block', 'unblock', 'revoke'] as const)
    expect(await handlers[`devices.${name}`]({ nodeIds: ['n', 'x'] }, ada, context)).toMatchObject(refused)
  expect(
    await handlers['devices.tag']({ nodeIds: ['n', 'x'], add: ['t'], remove: [] }, ada, context),
  ).toMatchObject(refused)
  expect(called.map(([name, nodeId]) => (name === 'tag' || name === 'revokeAll' ? name : nodeId))).toEqual([
    ...['n', 'n', 'revokeAll', 'tag'],
  ])
})

it('one has its label, vitals and way', async () => {
  const get = (nodeId: string) => handlers['device.get']({ nodeId }, ada)
  const track = () => handlers['device.track']({ nodeId: 'n' }, ada)
  expect(await get('n')).toEqual({
    ...{ device: 'shown', hasPlaces: true },
    vitals: { cpu: 1, statedAt: '1970-01-01T00:00:00.000Z' },
  })
  expect(called).toMatchObject([
    ['label', 'a', 'n'],
    ['show', 'a', [{ node: { nodeId: 'n' }, label: { name: 'old', tags: ['t'] } }], opened.clock.now()],
  ])
  expect(await get('m')).toMatchObject({ vitals: null })
  expect(await track()).toEqual({ points: [], until: null })
  trackOf = { data: ['point'], until: 'later' }
  expect(await track()).toEqual({ points: ['point'], until: 'later' })
})

it('labels and tags are recorded', async () => {
  const label = { nodeId: 'n', label: 'van', tags: ['a', 'b', 'a'] }
  expect(await handlers['device.label'](label, ada, contextOf(ada))).toEqual(done)
  await handlers['device.label']({ nodeId: 'n', label: '', tags: ['a'] }, ada, contextOf(ada))
  const tags = { nodeIds: ['n'], add: ['c', 'd'], remove: ['a'] }
  await handlers['devices.tag'](tags, ada, contextOf(ada))
  expect(called.filter(([name]) => name !== 'label')).toEqual([
    ['set', 'a', 'n', { name: 'van', tags: ['a', 'b'] }],
    ['set', 'a', 'n', { name: '', tags: ['a'] }],
    ['tag', 'a', 'n', { add: ['c', 'd'], remove: ['a'] }],
  ])
  expect(opened.audited()).toEqual([
    'ada device.label n ok old t → van a b a',
    'ada device.label n ok old t → a',
    'ada device.tag n ok +c +d -a',
  ])
})

it('a page is of the account, in the order that was asked for', async () => {
  const list = (asked: Parameters<(typeof handlers)['device.list']>[0]) =>
    handlers['device.list'](asked, ada, contextOf(ada))
  expect(await list({} as never)).toEqual({
    ...(fix as object),
    count: 1,
    pageSize: 100,
    at: '2026-01-01T00:00:00.000Z',
    onlineSeconds: 1500,
  })
  const onlineSince = opened.clock.now() - 1_500_000
  const plain = { search: '', page: 0, size: 100, onlineSince, order: 'added', isDescending: false }
  expect(called[0]).toEqual(['page', 'a', expect.objectContaining(plain)])
  const asked = { search: 'van', state: 'online', tag: 't', service: 's', version: 'v', page: 2 } as const
  await list({ ...asked, sort: 'name', descending: true } as never)
  expect(called[2]).toEqual([
    ...['page', 'a'],
    { ...asked, size: 100, onlineSince, order: 'name', isDescending: true },
  ])
  expect(await handlers['device.facets']({}, ada)).toBe('facets')
  expect(called.at(-1)).toEqual(['facets', 'a'])
})

it('searches of one person are limited, and pages are not', async () => {
  const list = (search: string, context = contextOf(ada)) =>
    handlers['device.list']({ search } as never, ada, context)
  for (let time = 0; time < 30; time++) await list('van')
  const context = contextOf(ada)
  await expect(list('van', context)).rejects.toMatchObject({ reason: 'busy' })
  expect(context.retryAfter).toBe(1)
  expect(await list('')).toBeDefined()
})
