/** Requests that wait for a browser: for whom, for how long, and how many. */
import { requestUriPrefix } from '@selvedge/protocol'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { migrations } from '../../storage/schema.ts'
import { createPushedRequests, type PushedRequests, pushedLifeSeconds } from './pushed-requests.ts'

const clock = createFakeClock()
let store: SqlStore
let requests: PushedRequests
beforeEach(() => {
  store = openMemoryStore(migrations)
  requests = createPushedRequests(store, clock)
})
afterEach(() => store.close())

const push = (change: { clientId?: string; address?: string } = {}) =>
  requests.push({ clientId: 'c', form: 'a=1', address: '192.0.2.1', ...change })

it('is found by its client until it was used', async () => {
  const uri = await push()
  expect(uri).toMatch(new RegExp(`^${requestUriPrefix}[\\w-]{43}$`))
  expect(await requests.find(uri, 'c')).toBe('a=1')
  expect(await requests.find(uri, 'other')).toBeUndefined()
  expect(await requests.use(uri, 'other')).toBe(false)
  expect(await requests.use(uri, 'c')).toBe(true)
  expect(await requests.find(uri, 'c')).toBeUndefined()
  expect(await requests.use(uri, 'c')).toBe(false)
})

it('is stored with the hash of its name, and not the name', async () => {
  const uri = await push()
  const rows = await store.run(sql`SELECT * FROM pushed_requests`)
  expect(JSON.stringify(rows)).not.toContain(uri.slice(requestUriPrefix.length))
})

it('expires', async () => {
  const uri = await push()
  clock.advance(pushedLifeSeconds * 1000 - 1)
  expect(await requests.find(uri, 'c')).toBe('a=1')
  clock.advance(1)
  expect(await requests.find(uri, 'c')).toBeUndefined()
  expect(await requests.use(uri, 'c')).toBe(false)
})

it('two requests have two names', async () => {
  expect(await push()).not.toBe(await push())
})

describe('is refused if too many wait', () => {
  const fill = (count: number, clientId: string, network: string) =>
    store.run(
      sql`INSERT INTO pushed_requests WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
        SELECT 'h' || CAST(i AS TEXT), CASE WHEN ${clientId} = '' THEN CAST(i AS TEXT) ELSE ${clientId} END, '',
          CASE WHEN ${network} = '' THEN CAST(i AS TEXT) ELSE ${network} END, CAST(${clock.now() + 1} AS BIGINT) FROM n`,
    )
  const refused = { code: 'temporarily_unavailable', retryAfter: 60 }

  it.each<[string, number, string, string, object]>([
    ['from its address', 100, '', '192.0.2.1', { address: '192.0.2.2' }],
    ['of its client', 2000, 'c', '', { clientId: 'other' }],
  ])('%s, while others are accepted', async (_, limit, clientId, network, other) => {
    await fill(limit - 1, clientId, network)
    await push()
    await expect(push()).rejects.toMatchObject(refused)
    await push(other)
    clock.advance(1)
    await push()
  })

  it('in all', async () => {
    await fill(9999, '', '')
    await push()
    await expect(push({ clientId: 'other', address: '192.0.2.2' })).rejects.toMatchObject(refused)
    clock.advance(1)
    await push()
  })

  it('from the network of its IPv6 address', async () => {
    for (let made = 0; made < 100; made++) await push({ address: `2001:db8::${made}` })
    await expect(push({ address: '2001:db8::ffff' })).rejects.toMatchObject(refused)
    await push({ address: '2001:db8:0:1::1' })
  })
})
