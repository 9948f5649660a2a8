/** The streams of an account for the console of a tenant. */
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { discoveryPaths } from '@selvedge/protocol'
import { systemClock } from '@selvedge/service-kit/clock'
import { createHttpApp } from '@selvedge/service-kit/http-app'
import { createLog } from '@selvedge/service-kit/log'
import { afterEach, expect, it } from 'vitest'
import { addAccountEndpoints } from './account.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function serve(
  locations: readonly object[] = [],
  track: { accountId: string; sharing: string; until: number } = {
    accountId: 'a',
    sharing: 'exact',
    until: 0,
  },
): Promise<{ url: string; watching: () => number; watches: () => number }> {
  let watching = 0
  let watches = 0
  const app = createHttpApp(createLog({ service: 'discovery', level: 'error', now: Date.now }), 1024, {
    vital: [],
  })
  addAccountEndpoints(app, {
    store: {
      ofAccount: async () => locations,
      last: async () => [{ sharing: { account: track.sharing } }],
      watch() {
        watching++
        watches++
        return () => watching--
      },
    } as never,
    registry: {
      find: async (accountId: string) => [
        accountId === track.accountId ? { trackUntil: track.until } : undefined,
      ],
    } as never,
    tracks: {
      of: async (_: string, limit: number) =>
        [1, 2, 3].map((fixedAt) => ({ longitude: fixedAt, latitude: 0, fixedAt })).slice(-limit),
    } as never,
    clock: systemClock,
    proof: () => ({ dpop: undefined as never, url: '' }),
    trust: {
      tenantVerifier: {
        verify: async () => ({ account_id: 'a', scope: 'edge:clusters', exp: systemClock.now() / 1000 + 60 }),
      },
      reasonAgainst: () => undefined,
      onRevocation: () => undefined,
      realms: { ofTenant: () => 'a' },
    } as never,
  })
  ends.push(() => app.close())
  return {
    url: await app.listen({ port: 0, host: '127.0.0.1' }),
    watching: () => watching,
    watches: () => watches,
  }
}

function open(url: string): Promise<{ status: number; asked: ClientRequest }> {
  return new Promise((resolve, reject) => {
    const onResponse = (response: IncomingMessage) => {
      response.on('error', () => undefined)
      resolve({ status: response.statusCode!, asked })
    }
    const headers = { Authorization: 'Bearer x' }
    const asked = request(url + discoveryPaths.accountStream, { agent: false, headers }, onResponse)
    ends.push(() => asked.destroy())
    asked.on('error', reject).end()
  })
}

it('opens a hundred streams of one account, and another one when one of them closed', async () => {
  const { url, watching, watches } = await serve()
  const all = await Promise.all(Array.from({ length: 100 }, () => open(url)))
  expect(all.every(({ status }) => status === 200)).toBe(true)
  expect((await open(url)).status).toBe(429)
  all[0]!.asked.destroy()
  await expect.poll(async () => (await open(url)).status).toBe(200)
  // The other streams are not cut off from the store.
  expect([watching(), watches()]).toEqual([1, 1])
})

it('sends the locations of 100,000 nodes of one account', async () => {
  const locations = Array.from({ length: 100_000 }, (_, at) => ({
    nodeId: at.toString(16).padStart(56, '0'),
    longitude: 100 + at / 1e5,
    latitude: 50 + at / 1e5,
    heardAt: 1e12 + at,
    sharing: { account: 'exact', others: 'none' },
  }))
  const { url } = await serve(locations)
  const answer = await fetch(url + discoveryPaths.accountPlaces, { headers: { Authorization: 'Bearer x' } })
  const ids = ((await answer.json()) as [string][]).map(([id]) => id)
  expect(ids).toEqual(locations.map(({ nodeId: id }) => id))
})

const nodeId = 'a7'.repeat(28)
async function trackAt(url: string, query = '') {
  const headers = { Authorization: 'Bearer x' }
  const response = await fetch(url + discoveryPaths.accountTrackOf(nodeId) + query, { headers })
  return { status: response.status, body: await response.json() }
}
const until = systemClock.now() + 60_000

it('shows the last points of a track that its owner has stored', async () => {
  const { url } = await serve([], { accountId: 'a', sharing: 'exact', until })
  expect(await trackAt(url, '?limit=2')).toEqual({
    status: 200,
    body: {
      data: [
        [2, 0, 2],
        [3, 0, 3],
      ],
      next: 2,
      until: new Date(until).toISOString(),
    },
  })
  expect((await trackAt(url, '?limit=0')).status).toBe(400)
})

it.each([
  ['of another account', { accountId: 'b', sharing: 'exact', until }],
  [
    'of a node that shares less than exact locations with its account',
    { accountId: 'a', sharing: '1km', until },
  ],
])('shows no track %s', async (_, track) => {
  const { url } = await serve([], track)
  expect(await trackAt(url)).toMatchObject({ status: 404, body: { error: 'not_found' } })
})

it('shows no point of a track that expired', async () => {
  const { url } = await serve([], { accountId: 'a', sharing: 'exact', until: systemClock.now() - 1 })
  expect((await trackAt(url)).body).toEqual({ data: [], next: null, until: null })
})
