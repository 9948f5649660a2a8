/** What a caller follows: its own containers, and the nodes of the account that has the device. */
import { RpcError, type TopicName } from '@selvedge/protocol'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Channel } from './channel.ts'
import { createSources, type SourceParts } from './sources.ts'

const owner = { account_id: 'a', client_id: 'c' } as AccessClaims
const record = (nodeId: string) => ({
  ...{ nodeId, name: nodeId, accountId: 'a', state: 'online', addresses: [], services: [] },
  ...{ heardAt: null, distance: null, fix: null, secret: 'left out' },
})

let state: { accountId: string; report: unknown }
let gps: () => unknown
let pages: (object[] | null)[]
let asked: unknown[]
let opened: Channel[]
let changes: number
let onLine: (line: object) => void
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  state = { accountId: 'a', report: null }
  gps = () => ({ latitude: 1 })
  pages = []
  asked = []
  opened = []
  changes = 0
})
afterEach(() => {
  for (const each of opened) each.close()
  vi.useRealTimers()
})

const by = (name: string) => (who: unknown) => {
  asked.push(who)
  return name
}
const sourcesOf = () =>
  createSources({
    device: {
      state: {
        get value() {
          return state
        },
      },
      identity: { link: { status: () => 'identity link' } },
      clock: { state: () => 'trusted' },
      notices: { list: () => ['notice'] },
    },
    location: {
      gps: { last: () => gps() },
      nodes: { heard: () => [record('near')], firstPage: async () => pages.shift() ?? null },
      discovery: { link: { status: () => 'discovery link' } },
    },
    services: {
      containers: {
        statuses: by('containers'),
        lastLines: (who: unknown, count: number) => [{ who, count }],
        followLogs(who: unknown, each: typeof onLine) {
          asked.push(who)
          onLine = each
          return () => asked.push('stopped')
        },
      },
      images: { pulls: by('pulls') },
      apps: { deployments: by('apps') },
    },
  } as unknown as SourceParts)

function open(topic: TopicName) {
  const channel = sourcesOf()[topic].open(owner, () => changes++)
  opened.push(channel)
  const data = () => {
    channel.refresh()
    return JSON.parse(channel.next(undefined)!.event.data)
  }
  return { channel, data }
}

it.each<[TopicName, boolean, string[], unknown]>([
  ['account', false, ['state'], { accountId: 'a', confirmed: true }],
  ['fixes', false, ['state', 'fixes'], { latitude: 1 }],
  ['containers', true, ['containers'], 'containers'],
  ['pulls', true, ['pulls'], 'pulls'],
  ['apps', true, ['apps', 'pulls'], 'apps'],
  ['connectivity', false, ['links'], { identity: 'identity link', discovery: 'discovery link' }],
  ['clock', false, ['links'], { state: 'trusted' }],
  ['notices', false, ['notices'], ['notice']],
])('the topic %s is of the client: %s, after %j', (topic, isOfClient, signals, expected) => {
  const { channel, data } = open(topic)
  expect(data()).toEqual(expected)
  expect(channel.next(undefined)!.event.topic).toBe(topic)
  const source = sourcesOf()[topic]
  expect([source.isOfClient ?? false, source.signals]).toEqual([isOfClient, signals])
  if (isOfClient) expect(new Set(asked)).toEqual(new Set([owner]))
})

it('an account is not confirmed while its report is on its way', () => {
  state.report = {}
  expect(open('account').data()).toEqual({ accountId: 'a', confirmed: false })
})

it('without a location there is null, and another failure is one', () => {
  gps = () => {
    throw new RpcError('not_found', 'no fix yet')
  }
  expect(open('fixes').data()).toBeNull()
  gps = () => {
    throw new RpcError('busy', 'later')
  }
  expect(() => open('fixes')).toThrow('later')
  gps = () => {
    throw Object.assign(new Error('broken'), { reason: 'not_found' })
  }
  expect(() => open('fixes')).toThrow('broken')
})

it('logs are those of the client: the last lines, and each that follows', () => {
  const source = sourcesOf().logs
  expect([source.isOfClient, source.signals]).toEqual([true, []])
  const { channel } = open('logs')
  const first = channel.next(undefined)!.event
  expect([first.topic, JSON.parse(first.data)]).toEqual(['logs', [{ who: owner, count: 100 }]])
  onLine({ text: 'next' })
  expect([changes, JSON.parse(channel.next(first.number)!.event.data)]).toEqual([1, [{ text: 'next' }]])
  opened.pop()!.close()
  expect(asked).toEqual([owner, 'stopped'])
})

it('nodes are those nearby, and those of the account once they are known, fetched again every 30 seconds', async () => {
  pages = [[record('one')], [record('one'), record('two')]]
  expect(sourcesOf().nodes.signals).toEqual([])
  const { channel, data } = open('nodes')
  const names = () => {
    const { account, linkLocal } = data()
    return [account, linkLocal].map((all) => all?.map(({ nodeId }: { nodeId: string }) => nodeId) ?? null)
  }
  expect(names()).toEqual([null, ['near']])
  await new Promise(setImmediate)
  expect(names()).toEqual([['one'], ['near']])
  expect([changes, channel.next(undefined)!.event.topic]).toEqual([1, 'nodes'])
  expect(JSON.stringify(data())).not.toContain('left out')
  vi.advanceTimersByTime(29_999)
  expect(pages).toHaveLength(1)
  vi.advanceTimersByTime(1)
  await new Promise(setImmediate)
  expect(names()).toEqual([['one', 'two'], ['near']])
  state.accountId = 'b'
  expect(names()).toEqual([[], []])
  opened.pop()!.close()
  expect(vi.getTimerCount()).toBe(0)
})
