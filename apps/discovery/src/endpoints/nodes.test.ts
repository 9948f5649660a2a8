/** What a node may read of others, by the precision that they allow: the track, which is exact, and the list of the account. */
import {
  discoveryPaths,
  discoveryReportSeconds,
  OAuthError,
  onlineWindowMs,
  type Precision,
} from '@selvedge/protocol'
import { createHttpApp } from '@selvedge/service-kit/http-app'
import { createLog } from '@selvedge/service-kit/log'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { NearQuery } from '../stores/location-store.ts'
import { addNodesEndpoints } from './nodes.ts'

const ids = { asker: 'a'.repeat(56), other: 'b'.repeat(56), foreign: 'c'.repeat(56) }
const accountOf = (nodeId: string) => (nodeId === ids.foreign ? 'account-2' : 'account-1')
const clock = createFakeClock()
/** The precision that a node allows its account; undefined: no location of it is known. */
let precisions: Record<string, Precision | undefined>
let trackUntil: number
/** Whether the registry has the nodes. */
let registered: boolean
/** When the registry and the store last heard every node. */
let heardAt: number
/** The searches that reached the store. */
let searches: NearQuery[]
/** The questions for points of a track, and the points that they get. */
let trackQuestions: unknown[][]
let trackPoints: { longitude: number; latitude: number; fixedAt: number }[]
/** The pages of the account that were read. */
let pages: unknown[]
/** What the signature of each request had to cover. */
let signedRequests: unknown[]
let app: ReturnType<typeof createHttpApp>
beforeEach(() => {
  trackUntil = clock.now() + 60_000
  registered = true
  heardAt = clock.now()
  searches = []
  trackQuestions = []
  trackPoints = [{ longitude: 13.123456, latitude: 52.123456, fixedAt: 1 }]
  pages = []
  signedRequests = []
  precisions = { [ids.asker]: 'exact', [ids.other]: 'exact', [ids.foreign]: 'exact' }
  app = createHttpApp(
    createLog({ service: 'discovery', level: 'error', now: Date.now }, () => undefined),
    1024,
    {
      vital: [],
    },
  )
  addNodesEndpoints(app, {
    clock,
    reportSeconds: discoveryReportSeconds,
    registry: {
      find: async (accountId: string, asked: readonly string[]) =>
        asked.map((nodeId) => (registered && accountOf(nodeId) === accountId ? nodeWith(nodeId) : undefined)),
      page: async (accountId: string, ...question: unknown[]) => {
        pages.push(question)
        return Object.values(ids)
          .filter((nodeId) => accountOf(nodeId) === accountId)
          .map(nodeWith)
      },
    } as never,
    store: {
      last: async (accountId: string, asked: readonly string[]) =>
        asked.map((nodeId) =>
          accountOf(nodeId) === accountId && precisions[nodeId] ? locationOf(nodeId) : undefined,
        ),
      near: async (query: NearQuery) => {
        searches.push(query)
        return []
      },
    } as never,
    tracks: {
      of: async (...question: unknown[]) => {
        trackQuestions.push(question)
        return trackPoints
      },
    } as never,
    sessions: {
      nodeOf({ authorization, ...signed }: { authorization?: string }) {
        if (authorization !== 'asker') throw new OAuthError('invalid_token', 'begin a session')
        signedRequests.push(signed)
        return { nodeId: ids.asker, accountId: 'account-1' }
      },
    } as never,
  })
})
afterEach(() => app.close())

const nodeWith = (nodeId: string) => ({
  nodeId,
  nodeName: 'n',
  accountId: accountOf(nodeId),
  addresses: [],
  services: [],
  heardAt,
  trackUntil,
})
const locationOf = (nodeId: string) => ({
  ...nodeWith(nodeId),
  longitude: 13.123456,
  latitude: 52.123456,
  speed: 7,
  bearing: 8,
  accuracy: 9,
  fixedAt: clock.now(),
  receivedAt: clock.now(),
  source: 'api',
  suspect: false,
  sharing: { account: precisions[nodeId], others: 'none' },
})

async function ask(url: string, authorization = 'asker') {
  const { statusCode, body } = await app.inject({ url, headers: { authorization } })
  return { status: statusCode, text: body, body: JSON.parse(body) }
}
const track = (nodeId: string) => ask(discoveryPaths.trackOf(nodeId))

describe('the track of a node', () => {
  it.each<[precision: Precision | undefined, status: number]>([
    ['exact', 200],
    ['1km', 404],
    ['city', 404],
    ['none', 404],
    [undefined, 404],
  ])(
    'that allows its account the precision %s is read by another node of the account: %d',
    async (precision, status) => {
      precisions[ids.other] = precision
      const answer = await track(ids.other)
      expect(answer.status).toBe(status)
      if (status === 404) expect(answer.text).not.toMatch(/13\.|52\./)
      else expect(answer.body.data).toEqual([[13.123456, 52.123456, 1]])
    },
  )

  it('is read by the node itself, whatever it allows its account', async () => {
    precisions[ids.asker] = 'none'
    expect((await track(ids.asker)).body.data).toHaveLength(1)
  })

  it('is read by no node of another account', async () => {
    expect((await track(ids.foreign)).status).toBe(404)
  })

  it('is empty after its end', async () => {
    trackUntil = clock.now()
    expect((await track(ids.other)).body).toMatchObject({ data: [], until: null })
  })

  it('is not found if the registry has no such node', async () => {
    registered = false
    expect((await track(ids.other)).status).toBe(404)
  })

  it('is read by no caller without a session', async () => {
    expect((await ask(discoveryPaths.trackOf(ids.other), 'none')).status).toBe(401)
  })
})

it('the list of an account shows each node as exactly as the node allows, and no node of another account', async () => {
  precisions[ids.other] = 'city'
  const { body, text } = await ask(`${discoveryPaths.nodes}?cluster=account`)
  const [own, other] = body.data
  expect(body.data).toHaveLength(2)
  expect(own.fix).toMatchObject({ longitude: 13.123456, precision: 'exact', speed: 7 })
  expect(other.fix).toMatchObject({ precision: 'city', speed: null, bearing: null, accuracy: null })
  expect(String(other.fix.longitude)).not.toContain('13.12')
  expect(text).not.toContain(ids.foreign)
})

it('a node with too many requests has to wait', async () => {
  const statuses: number[] = []
  for (let at = 0; at < 70; at++) statuses.push((await track(ids.asker)).status)
  expect(statuses.indexOf(429)).toBeGreaterThanOrEqual(60)
  const refused = await ask(`${discoveryPaths.nodes}?cluster=account`)
  expect(refused.status).toBe(429)
  expect(refused.body.error_description).toContain('this node')
})

it('a session signs the method, the whole path and no body', async () => {
  const path = `${discoveryPaths.nodes}?cluster=account`
  await ask(path)
  expect(signedRequests).toEqual([{ method: 'GET', path, body: '' }])
})

describe('a node is online', () => {
  const windowMs = onlineWindowMs(discoveryReportSeconds)
  const statesNow = async (): Promise<string[]> =>
    (await ask(`${discoveryPaths.nodes}?cluster=account`)).body.data.map(
      (node: { state: string }) => node.state,
    )

  it('in the list of its account until the end of the window after its last report', async () => {
    heardAt = clock.now() - windowMs
    expect(await statesNow()).toEqual(['online', 'online'])
    heardAt -= 1
    expect(await statesNow()).toEqual(['offline', 'offline'])
  })

  it('and found nearby in the same window', async () => {
    await ask(`${discoveryPaths.nodes}?cluster=proximity`)
    expect(searches).toMatchObject([{ heardSince: clock.now() - windowMs }])
  })
})

describe('a page of a track', () => {
  const at = (fixedAt: number) => ({ longitude: 1, latitude: 2, fixedAt })
  const page = (query: string) => ask(`${discoveryPaths.trackOf(ids.other)}${query}`)

  it('has the newest points, oldest first, and the time before which the next page is', async () => {
    trackPoints = [at(1), at(2), at(3)]
    expect((await page('?limit=2')).body).toEqual({
      data: [
        [1, 2, 2],
        [1, 2, 3],
      ],
      next: 2,
      until: '2026-01-01T00:01:00.000Z',
    })
    expect((await page('?limit=3')).body).toMatchObject({ data: { length: 3 }, next: null })
  })

  it('is as long as the question wants, up to 10,000 points, and before its time', async () => {
    await page('')
    await page('?limit=10000&before=0')
    await page('?limit=1&before=123')
    expect(trackQuestions).toEqual([
      [ids.other, 10_001, undefined],
      [ids.other, 10_001, 0],
      [ids.other, 2, 123],
    ])
  })

  it('is not read after the end of the track', async () => {
    trackUntil = clock.now()
    expect((await page('')).body).toEqual({ data: [], next: null, until: null })
    expect(trackQuestions).toEqual([])
  })

  it.each([
    ['?limit=0', 'limit'],
    ['?limit=10001', 'limit'],
    ['?limit=1.5', 'limit'],
    ['?before=-1', 'before'],
    ['?before=1.5', 'before'],
    ['?before=x', 'before'],
    ['?other=1', 'cluster'],
  ])('is refused with %s', async (query, name) => {
    const { status, body } = await page(query)
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_request' })
    expect(body.error_description).toContain(`"${name}"`)
  })
})

describe('the question for nodes', () => {
  const list = (query: string) => ask(`${discoveryPaths.nodes}?${query}`)

  it('is for a page of the account', async () => {
    await list('cluster=account')
    await list(`cluster=account&limit=500&after=${ids.asker}`)
    await list('cluster=account&limit=1')
    expect(pages).toEqual([
      ['', 101],
      [ids.asker, 501],
      ['', 2],
    ])
  })

  it('or for what is nearby', async () => {
    await list('cluster=proximity')
    await list('cluster=proximity&radius=100000&limit=100')
    await list('cluster=proximity&radius=0.5&limit=1')
    expect(searches.map(({ radius, limit }) => [radius, limit])).toEqual([
      [5000, 20],
      [100_000, 100],
      [0.5, 1],
    ])
  })

  it.each([
    ['', 'cluster'],
    ['cluster=all', 'cluster'],
    ['cluster=account&limit=0', 'limit'],
    ['cluster=account&limit=501', 'limit'],
    ['cluster=account&limit=1.5', 'limit'],
    ['cluster=account&after=x', 'after'],
    ['cluster=account&radius=1', 'cluster'],
    ['cluster=proximity&limit=0', 'limit'],
    ['cluster=proximity&limit=101', 'limit'],
    ['cluster=proximity&limit=1.5', 'limit'],
    ['cluster=proximity&radius=0', 'radius'],
    ['cluster=proximity&radius=100001', 'radius'],
    [`cluster=proximity&after=${ids.asker}`, 'cluster'],
  ])('is refused as %j', async (query, name) => {
    const { status, body } = await list(query)
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_request' })
    expect(body.error_description).toContain(`"${name}"`)
    expect([pages, searches]).toEqual([[], []])
  })

  it('is refused without a session', async () => {
    expect((await ask(`${discoveryPaths.nodes}?cluster=account`, '')).status).toBe(401)
  })
})
