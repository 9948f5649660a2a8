/** Exports of devices: of the account of the caller, page by page, few at a time, and recorded. */
import type { OAuthError } from '@selvedge/protocol'
import { createAddressSet } from '@selvedge/service-kit/address-set'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createAccountExports } from './account-exports.ts'
import { addDeviceExport } from './device-export.ts'
import { createDeviceStates } from './device-states.ts'

let app: FastifyInstance
let asked: unknown[]
let shown: unknown[]
let entries: object[]
let failure: Error | undefined
let begun: { destroyed: boolean }[]
let count: number

beforeEach(async () => {
  ;[asked, shown, entries, begun] = [[], [], [], []]
  failure = undefined
  count = 101
  app = Fastify()
  app.setErrorHandler((cause: OAuthError, _, reply) =>
    reply.code(cause.status ?? 400).send({ error: cause.code ?? cause.message }),
  )
  const beginExport = createAccountExports(2)
  addDeviceExport(app, {
    callers: {
      require: async () =>
        ({ membership: { accountId: 'a' }, person: { personId: 'ada', email: 'ada@example.com' } }) as never,
    },
    nodes: {
      async after(accountId: string, filter: object, last: { nodeId: string } | undefined, size: number) {
        asked.push([accountId, filter, last, size])
        const from = last === undefined ? 0 : Number(last.nodeId) + 1
        const until = Math.min(count, from + size)
        return Array.from({ length: Math.max(0, until - from) }, (_, at) => ({
          node: { nodeId: String(from + at) },
        })) as never
      },
    },
    async show(_, some, at, isLocated) {
      shown.push([some.length, at, isLocated])
      const devices = some.map(({ node }) => ({ nodeId: node.nodeId, name: 'a\u0085b', tags: [], fix: null }))
      return { devices: devices as never, hasPlaces: false }
    },
    states: createDeviceStates({ now: () => 2_000_777 }, 600),
    audit: {
      async record(entry: object) {
        if (failure) throw failure
        entries.push(entry)
      },
    } as never,
    beginExport(accountId, content) {
      const stream = beginExport(accountId, content)
      begun.push(stream)
      return stream
    },
    trustedProxies: createAddressSet([]),
  })
  await app.ready()
})
afterEach(() => app.close())

const get = (url: string) => app.inject({ method: 'GET', url, remoteAddress: '192.0.2.7' })

it('one as JSON has each device once, escaped, in pages of a hundred', async () => {
  const answer = await get('/console/devices.json?search=van&state=online')
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'content-disposition': 'attachment; filename="selvedge-devices.json"',
  })
  expect(answer.body).toContain('a\\u0085b')
  expect(answer.body.startsWith('[\n{')).toBe(true)
  expect(answer.body.endsWith('}\n]\n')).toBe(true)
  expect(answer.json().map(({ nodeId }: { nodeId: string }) => nodeId)).toEqual(
    Array.from({ length: 101 }, (_, at) => String(at)),
  )
  const filter = { search: 'van', state: 'online', onlineSince: 500_000 }
  expect(asked).toMatchObject([
    ['a', filter, undefined, 100],
    ['a', filter, { nodeId: '99' }, 100],
    ['a', filter, { nodeId: '100' }, 100],
  ])
  // The discovery service does not answer, and is asked once.
  expect(shown).toEqual([
    [100, 2_000_000, true],
    [1, 2_000_000, false],
  ])
  expect(entries).toEqual([
    {
      ...{ accountId: 'a', actor: 'ada@example.com', action: 'device.export', outcome: 'ok' },
      ...{ address: '192.0.2.7', detail: 'json' },
    },
  ])
})

it('one of no devices is an empty list, or a head', async () => {
  count = 0
  expect((await get('/console/devices.json')).json()).toEqual([])
  const csv = await get('/console/devices.csv')
  expect(csv.headers['content-type']).toBe('text/csv; charset=utf-8; header=present')
  expect(csv.headers['content-disposition']).toBe('attachment; filename="selvedge-devices.csv"')
  expect(csv.body.split('\n').filter(Boolean)).toHaveLength(1)
  expect(entries).toMatchObject([{ detail: 'json' }, { detail: 'csv' }])
})

it('an unknown filter is refused, and nothing is recorded', async () => {
  expect((await get('/console/devices.json?state=flying')).json()).toEqual({ error: 'invalid_request' })
  expect([asked, entries]).toEqual([[], []])
})

it('one that cannot be recorded is not sent, and ends', async () => {
  failure = new Error('full')
  expect((await get('/console/devices.json')).json()).toEqual({ error: 'full' })
  expect(begun.map(({ destroyed }) => destroyed)).toEqual([true])
})

it('a person may begin ten, then one in half a minute', async () => {
  count = 0
  for (let time = 0; time < 10; time++) expect((await get('/console/devices.csv')).statusCode).toBe(200)
  expect(await get('/console/devices.csv')).toMatchObject({ statusCode: 429, headers: {} })
})
