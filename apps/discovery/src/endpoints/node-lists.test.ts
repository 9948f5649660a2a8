/** The lists of nodes: what is in them, in which order of pages, and how often they may be asked for. */
import { destination } from '@selvedge/geo'
import { nodeLimits, onlineWindowMs, type Precision } from '@selvedge/protocol'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RegisteredNode } from '../registry/registry.ts'
import type { KnownLocation, NearQuery } from '../stores/location-store.ts'
import { createNodeLists } from './node-lists.ts'

const clock = createFakeClock()
const reportSeconds = 120
const idOf = (letter: string) => letter.repeat(56)
const asker = { nodeId: idOf('a'), accountId: 'account-1' } as never

const locationOf = (letter: string, more: Partial<KnownLocation> = {}): KnownLocation => ({
  nodeId: idOf(letter),
  nodeName: `located ${letter}`,
  accountId: 'account-1',
  sharing: { account: 'exact', others: 'exact' },
  longitude: 13,
  latitude: 52,
  speed: 0,
  bearing: 0,
  fixedAt: clock.now(),
  receivedAt: clock.now(),
  heardAt: clock.now(),
  source: 'api',
  suspect: false,
  ...more,
})
const nodeOf = (letter: string, more: object = {}): RegisteredNode =>
  ({
    nodeId: idOf(letter),
    nodeName: `registered ${letter}`,
    accountId: 'account-1',
    addresses: ['192.0.2.1'],
    services: [{ id: 's' }],
    heardAt: clock.now(),
    trackUntil: 0,
    ...more,
  }) as never

let registered: RegisteredNode[]
let located: KnownLocation[]
let neighbours: { location: KnownLocation; distance: number }[]
let searches: NearQuery[]
let lists: ReturnType<typeof createNodeLists>
beforeEach(() => {
  registered = [nodeOf('a'), nodeOf('b'), nodeOf('c')]
  located = [locationOf('a')]
  neighbours = []
  searches = []
  lists = createNodeLists({
    clock,
    reportSeconds,
    registry: {
      page: async (accountId: string, after: string, limit: number) =>
        registered.filter((node) => accountId === 'account-1' && node.nodeId > after).slice(0, limit),
      find: async (_: string, ids: string[]) => registered.filter(({ nodeId }) => ids.includes(nodeId)),
    } as never,
    store: {
      last: async (_: string, ids: string[]) => ids.map((id) => located.find(({ nodeId }) => nodeId === id)),
      near: async (query: NearQuery) => {
        searches.push(query)
        return neighbours
      },
    } as never,
  })
})
afterEach(() => {
  vi.useRealTimers()
})

const lettersOf = ({ data }: { data: readonly { nodeId: string }[] }) =>
  data.map(({ nodeId }) => nodeId[0]).join('')

describe('the list of an account', () => {
  it('comes in pages, each with the node after which the next one begins', async () => {
    const first = await lists.ofAccount(asker, 2, '')
    expect(first).toMatchObject({ type: 'account', next: idOf('b') })
    expect(lettersOf(first)).toBe('ab')
    const second = await lists.ofAccount(asker, 2, first.next!)
    expect(lettersOf(second)).toBe('c')
    expect(second.next).toBeNull()
    expect((await lists.ofAccount(asker, 3, '')).next).toBeNull()
  })

  it('ends a page where it becomes too long, with the node after which the next one begins', async () => {
    const large = { addresses: ['x'.repeat(100 * 1024)] }
    registered = [nodeOf('a', large), nodeOf('b', large), nodeOf('c', large)]
    const page = await lists.ofAccount(asker, 3, '')
    expect(lettersOf(page)).toBe('ab')
    expect(page.next).toBe(idOf('b'))
  })

  it('has what the registry and the location tell, the later report of both', async () => {
    located = [locationOf('a', { heardAt: clock.now() - 1000 })]
    registered = [
      nodeOf('a', { heardAt: clock.now() - 5000 }),
      nodeOf('b', { accountId: 'account-1@tenant' }),
    ]
    const { data } = await lists.ofAccount(asker, 3, '')
    expect(data[0]).toMatchObject({
      nodeId: idOf('a'),
      name: 'located a',
      accountId: 'account-1',
      state: 'online',
      addresses: ['192.0.2.1'],
      services: [{ id: 's' }],
      heardAt: '2025-12-31T23:59:59.000Z',
      distance: 0,
      fix: { precision: 'exact' },
    })
    expect(data[1]).toMatchObject({ name: 'registered b', accountId: 'account-1', distance: null, fix: null })
  })

  it('has the later report also if it is the one of the registry', async () => {
    located = [locationOf('a', { heardAt: clock.now() - onlineWindowMs(reportSeconds) - 1 })]
    const [node] = (await lists.ofAccount(asker, 1, '')).data
    expect(node).toMatchObject({ state: 'online', heardAt: '2026-01-01T00:00:00.000Z' })
  })

  it('has distances between places as they are shown, to a tenth of a metre', async () => {
    const shown = (precision: Precision) => ({ sharing: { account: precision, others: 'none' as const } })
    located = [locationOf('a'), locationOf('b', { latitude: 52.001 }), locationOf('c', shown('none'))]
    const distances = async () => (await lists.ofAccount(asker, 3, '')).data.map(({ distance }) => distance)
    expect(await distances()).toEqual([0, expect.closeTo(111.2, 0), null])
    const exact = (await distances())[1]!
    expect(exact * 10).toBeCloseTo(Math.round(exact * 10), 6)
    located[1] = locationOf('b', { latitude: 52.001, ...shown('city') })
    expect((await distances())[1]).not.toBe(exact)
    located = located.slice(1)
    expect(await distances()).toEqual([null, null, null])
  })
})

describe('the nodes nearby', () => {
  it('are searched for around the last location of the node, without it, among those that reported lately', async () => {
    expect(await lists.nearby(asker, 5000, 7)).toEqual({ type: 'proximity', data: [], next: null })
    expect(searches).toEqual([
      {
        accountId: 'account-1',
        except: idOf('a'),
        longitude: 13,
        latitude: 52,
        radius: 5000,
        limit: 7,
        heardSince: clock.now() - onlineWindowMs(reportSeconds),
      },
    ])
  })

  it('need a location of the node that searches', async () => {
    located = []
    await expect(lists.nearby(asker, 5000, 7)).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('updateGps'),
    })
    expect(searches).toEqual([])
  })

  it('of the account have names and addresses, those of others do not', async () => {
    neighbours = [
      { location: locationOf('b'), distance: 10.26 },
      { location: locationOf('d', { accountId: 'account-2' }), distance: 20.34 },
      { location: locationOf('e'), distance: 30 },
    ]
    const { data } = await lists.nearby(asker, 5000, 7)
    expect(data).toMatchObject([
      { nodeId: idOf('b'), name: 'located b', addresses: ['192.0.2.1'], distance: 10.3 },
      { nodeId: idOf('d'), name: null, accountId: null, addresses: [], distance: 20.3 },
      // The registry does not have it yet.
      {
        nodeId: idOf('e'),
        name: 'located e',
        accountId: 'account-1',
        addresses: [],
        services: [],
        distance: 30,
      },
    ])
  })

  it('end where the list becomes too long', async () => {
    registered = [nodeOf('b', { addresses: ['x'.repeat(200 * 1024)] })]
    neighbours = ['b', 'b'].map((letter) => ({ location: locationOf(letter), distance: 1 }))
    expect((await lists.nearby(asker, 5000, nodeLimits.nearest.most)).data).toHaveLength(1)
  })
})

describe('searches from other places', () => {
  const searchFrom = async (latitude: number, who = asker): Promise<string> => {
    located = [locationOf('a', { latitude }), locationOf('b', { latitude })]
    try {
      await lists.nearby(who, 5000, 7)
      return 'found'
    } catch (cause) {
      return (cause as { code: string }).code
    }
  }

  it('are limited to 20 at once, and two in a minute', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const outcomes: string[] = []
    for (let at = 0; at < 25; at++) outcomes.push(await searchFrom(at))
    expect(outcomes).toEqual(outcomes.map((_, at) => (at < 20 ? 'found' : 'temporarily_unavailable')))
    expect(await searchFrom(1, { nodeId: idOf('b'), accountId: 'account-1' } as never)).toBe('found')
    for (const latitude of [30, 31]) {
      vi.advanceTimersByTime(28_000)
      expect(await searchFrom(latitude)).toBe('temporarily_unavailable')
      vi.advanceTimersByTime(3000)
      expect(await searchFrom(latitude)).toBe('found')
    }
  })

  it('are refused with what there were too many of', async () => {
    for (let at = 0; at < 20; at++) await searchFrom(at)
    located = [locationOf('a', { latitude: 40 })]
    await expect(lists.nearby(asker, 5000, 7)).rejects.toThrow(
      /too many requests of this node from other places/,
    )
  })

  it('are not those from the same place or within a kilometre of it', async () => {
    for (let at = 0; at < 100; at++) expect(await searchFrom(52)).toBe('found')
    for (let at = 0; at < 100; at++) expect(await searchFrom(52 + (at % 2) * 0.008)).toBe('found')
    // As far as counts as the same place, and 10 cm more.
    const { latitude: kilometre } = destination({ longitude: 13, latitude: 52 }, 0, 1000)
    for (let at = 0; at < 100; at++) expect(await searchFrom(at % 2 ? kilometre : 52)).toBe('found')
    const { latitude: more } = destination({ longitude: 13, latitude: 52 }, 0, 1000.1)
    const outcomes: string[] = []
    for (let at = 0; at < 25; at++) outcomes.push(await searchFrom(at % 2 ? more : 52))
    expect(outcomes).toContain('temporarily_unavailable')
  })

  it('count from the place of the last search that was a move: a node does not creep away', async () => {
    const outcomes: string[] = []
    for (let at = 0; at < 100; at++) outcomes.push(await searchFrom(52 + at * 0.008))
    expect(outcomes).toContain('temporarily_unavailable')
  })
})
