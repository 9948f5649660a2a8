/** Other nodes: which questions are asked, and what is answered while the discovery service does not respond. */
import { ConnectionFailure, OAuthFailure } from '@selvedge/client'
import { type NodeList, type NodeOptions, type NodeRecord, RpcError } from '@selvedge/protocol'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { beforeEach, expect, it } from 'vitest'
import { createNodes, type NodesParts } from './nodes.ts'

const clock = createFakeClock(1_000_000)
const record = (nodeId: string) => ({ nodeId, state: 'offline', fix: null }) as unknown as NodeRecord
const list = (type: NodeList['type'], ...ids: string[]): NodeList => ({
  ...{ type, data: ids.map(record), next: null },
})

let state: { value: { accountId: string } }
let asked: unknown[]
let answer: () => unknown
let kept: unknown[]
let known: { at: number; list: NodeList } | undefined
let heard: NodeRecord[]
beforeEach(() => {
  clock.set(1_000_000)
  state = { value: { accountId: 'a' } }
  asked = []
  answer = () => list('account', 'one')
  kept = []
  known = undefined
  heard = [record('near')]
})

const nodes = () =>
  createNodes({
    ...{ nodeId: 'own', state, clock },
    client: {
      nodes: async (...each: unknown[]) => {
        asked.push(each)
        return answer()
      },
      track: async (...each: unknown[]) => {
        asked.push(each)
        return answer()
      },
    },
    session: {
      use: (_: string, call: (authorize: string) => unknown) => call('authorize'),
      reportWithin: () => 60_000,
    },
    lastKnown: {
      find: async (...each: unknown[]) => {
        asked.push(each)
        return known
      },
      keep: async (...each: unknown[]) => void kept.push(each),
    },
    neighbours: async (viewer: string) => {
      asked.push(viewer)
      return heard
    },
    heard: () => heard,
  } as unknown as NodesParts)

const fail = (cause: unknown) => () => {
  throw cause
}
const oauth = (reason: string, status = 400) => new OAuthFailure(reason as never, 'why', status)
const away = new ConnectionFailure('not_running', 'nothing answers')

it('an answer is stored for the account that it was asked for', async () => {
  expect(await nodes().list('account', { limit: 5 })).toEqual({
    ...list('account', 'one'),
    ...{ source: 'discovery', asOf: new Date(1_000_000).toISOString(), ageSeconds: 0, stale: false },
  })
  expect(asked).toEqual([[{ cluster: 'account', limit: 5 }, 'authorize']])
  expect(kept).toEqual([['a', { cluster: 'account', limit: 5 }, 1_000_000, list('account', 'one')]])
  expect(await nodes().list('proximity')).toMatchObject({ source: 'discovery' })
})

const nodeId = 'a'.repeat(56)
it.each<['account' | 'proximity' | 'linkLocal', NodeOptions, string | undefined]>([
  ['account', { after: nodeId }, undefined],
  ['account', { after: 'x' }, 'the option "after" is not the "next" of a page'],
  ['account', { radius: 5 }, '"radius" is not one of the cluster "account"; it has limit, after'],
  ['account', { limit: 500 }, undefined],
  ['proximity', { radius: 5, limit: 100 }, undefined],
  ['proximity', { limit: 101 }, 'the option "limit" is 101; of "proximity" at most 100'],
  ['proximity', { after: nodeId }, '"after" is not one of the cluster "proximity"; it has radius, limit'],
  ['linkLocal', { limit: 1 }, undefined],
  ['linkLocal', { radius: 1 }, '"radius" is not one of the cluster "linkLocal"; it has limit'],
])('the cluster %s with %j is refused: %s', async (cluster, options, message) => {
  const answered = nodes().list(cluster, options)
  if (message === undefined) return void (await answered)
  await expect(answered).rejects.toMatchObject({ reason: 'invalid_params' })
  await expect(nodes().list(cluster, options)).rejects.toThrow(message)
  expect(asked).toEqual([])
})

it.each([
  [oauth('not_found', 404), 'not_found', 'why'],
  [oauth('invalid_request'), 'invalid_params', 'getNodes: why'],
  [oauth('temporarily_unavailable', 429), 'busy', 'why'],
])('the refusal %o is one of the call: %s', async (cause, reason, message) => {
  answer = fail(cause)
  known = { at: 1, list: list('account', 'old') }
  await expect(nodes().list('account')).rejects.toMatchObject({ reason, message, cause })
})

it.each([away, oauth('invalid_token', 401), new RpcError('busy', 'nothing answers')])(
  'after %o, the last known answer is given with its age',
  async (cause) => {
    answer = fail(cause)
    known = { at: 1_000_000 - 5999, list: list('account', 'old') }
    expect(await nodes().list('account', { limit: 3 })).toEqual({
      ...list('account', 'old'),
      source: 'discovery',
      ...{ asOf: new Date(994_001).toISOString(), ageSeconds: 5, stale: true },
    })
    expect(asked[1]).toEqual(['a', { cluster: 'account', limit: 3 }])
    known = undefined
    await expect(nodes().list('account')).rejects.toMatchObject({ reason: 'discovery_unavailable', cause })
    expect(kept).toEqual([])
  },
)

it('an answer from the future has no age', async () => {
  answer = fail(away)
  known = { at: 2_000_000, list: list('account', 'old') }
  expect((await nodes().list('account')).ageSeconds).toBe(0)
})

it('a defect is not hidden by the last known answer', async () => {
  const defect = new TypeError('a defect')
  answer = fail(defect)
  known = { at: 1, list: list('account', 'old') }
  await expect(nodes().list('account')).rejects.toBe(defect)
  await expect(nodes().firstPage()).rejects.toBe(defect)
  await expect(nodes().track()).rejects.toBe(defect)
})

it('those on the local network are shown for the viewer, a hundred unless fewer are asked for', async () => {
  heard = Array.from({ length: 101 }, (_, at) => record(`${at}`))
  const all = await nodes().list('linkLocal')
  expect(all).toMatchObject({ type: 'linkLocal', next: null, source: 'network', ageSeconds: 0, stale: false })
  expect(all.data).toHaveLength(100)
  expect((await nodes().listUnauthenticated({ limit: 2 })).data).toEqual(heard.slice(0, 2))
  expect((await nodes().listUnauthenticated()).data).toHaveLength(100)
  expect(asked).toEqual(['account', 'anyone', 'anyone'])
  expect(nodes().heard()).toBe(heard)
  await expect(nodes().listUnauthenticated({ after: nodeId })).rejects.toThrow('not one of the cluster')
})

it('the first page is of the account that the device has, and null while there is no answer', async () => {
  expect(await nodes().firstPage()).toEqual([record('one')])
  expect(asked).toEqual([[{ cluster: 'account' }, 'authorize']])
  answer = () => {
    state.value = { accountId: 'b' }
    return list('account', 'one')
  }
  expect(await nodes().firstPage()).toBeNull()
  for (const cause of [away, new RpcError('busy', 'x')]) {
    answer = fail(cause)
    expect(await nodes().firstPage()).toBeNull()
  }
})

it('returns the track of its own node, or no points if there is no track', async () => {
  answer = () => 'track'
  expect(await nodes().track({ limit: 3 })).toBe('track')
  await nodes().track()
  expect(asked).toEqual([
    ['own', { limit: 3 }, 'authorize'],
    ['own', {}, 'authorize'],
  ])
  answer = fail(oauth('not_found', 404))
  expect(await nodes().track()).toEqual({ data: [], next: null, until: null })
  for (const cause of [away, oauth('invalid_token', 401), new RpcError('not_found', 'nothing answers')]) {
    answer = fail(cause)
    await expect(nodes().track()).rejects.toMatchObject({ reason: 'discovery_unavailable', cause })
  }
})
