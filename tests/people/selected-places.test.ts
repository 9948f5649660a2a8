/** The map shows what the list shows: the same devices, in the same states, for every search and filter. */
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { identityPaths } from '@selvedge/protocol'
import type { ConsoleInput } from '@selvedge/protocol/console'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ConsoleSession, startWithOwner } from '../harness/console.ts'

const devices = 12_000
const nodeIdOf = (at: number): string => at.toString(16).padStart(56, '0')
/** Every fifth is away, and every 1,000th is blocked. */
const stateOf = (at: number) => (at % 1000 === 7 ? 'blocked' : at % 5 === 0 ? 'away' : 'online')

let owner: ConsoleSession
let stop: () => Promise<void>
/** In place of the discovery service: it has all devices, and one that is not of the account. */
let discovery: Server
beforeAll(async () => {
  const places = Array.from({ length: devices + 1 }, (_, at) => [nodeIdOf(at), at / 100, -at / 200, 5])
  discovery = createServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(request.url?.includes('places') ? places : []))
  })
  await new Promise<void>((resolve) => discovery.listen(0, '127.0.0.1', resolve))
  const { port } = discovery.address() as { port: number }
  const started = await startWithOwner(`--discovery.url=http://127.0.0.1:${port}`)
  ;({ owner, stop } = started)
  const database = new DatabaseSync(join(started.state, 'identity', 'identity.db'), { timeout: 30_000 })
  const { account_id: accountId } = database.prepare('SELECT account_id FROM accounts').get()!
  const insert = database.prepare(
    `INSERT INTO nodes (node_id, name, account_id, hmac_node_key, hmac_cloud_key, hmac_secret, enrolled_at, last_seen_at, version, services, blocked_at)
    VALUES (?, ?, ?, '', '', '', ?, ?, '1.0.0', '[]', ?)`,
  )
  database.exec('BEGIN')
  for (let at = 0; at < devices; at++) {
    const state = stateOf(at)
    const lastSeenAt = Date.now() - (state === 'online' ? 0 : 7_200_000)
    insert.run(nodeIdOf(at), `van-${at}`, accountId!, at, lastSeenAt, state === 'blocked' ? 1 : null)
  }
  database.exec(
    `INSERT INTO device_needs VALUES ('${accountId}', 'disk', '${nodeIdOf(3)}'), ('${accountId}', 'disk', '${nodeIdOf(5)}')`,
  )
  database.exec('COMMIT')
  database.close()
})
afterAll(async () => {
  await stop?.()
  discovery?.close()
})

type Query = ConsoleInput<'device.list'>

async function mapOf(query: Query): Promise<Map<string, string>> {
  const asked = new URLSearchParams(query as Record<string, string>)
  const answer = await owner.get(`${identityPaths.consolePlaces}?${asked}`)
  expect(answer.status).toBe(200)
  const places = (await answer.json()) as [string, number, number, number, number][]
  const now = Date.now() / 1000
  return new Map(
    places.map(([nodeId, , , , until]) => [nodeId, until < 0 ? 'blocked' : until >= now ? 'online' : 'away']),
  )
}

it.each<[string, Query]>([
  ['all', {}],
  ['a search', { search: 'van-119' }],
  ['a search without a result', { search: 'zzzz' }],
  ['the beginning of a node ID', { search: nodeIdOf(0x123).slice(0, 55) }],
  ['those that are away', { state: 'away' }],
  ['those that are blocked', { state: 'blocked' }],
  ['a search in a state', { search: 'van-11', state: 'online' }],
  ['those with a full disk', { need: 'disk' }],
  ['those with a full disk that are away', { need: 'disk', state: 'away' }],
])('the map has the devices of the list, in their states: %s', async (_, query) => {
  const { total, counts } = await owner.api['device.list'](query)
  const shown = await mapOf(query)
  expect(shown.size).toBe(total)
  const states = [...shown.values()]
  const own = {
    ...counts,
    ...(query.state && { online: 0, away: 0, blocked: 0, [query.state]: counts[query.state] }),
  }
  for (const state of ['online', 'away', 'blocked'] as const)
    expect(states.filter((each) => each === state).length).toBe(own[state])
  for (let page = 0; page < Math.min(2, Math.ceil(total / 100)); page++)
    for (const { nodeId, state } of (await owner.api['device.list']({ ...query, page })).devices)
      expect(shown.get(nodeId)).toBe(state)
})

it('counts what needs attention as the filters select it', async () => {
  const { total, away, lastSeenAt, needs } = await owner.api['device.attention']()
  expect(total).toBe(devices)
  expect(away).toBe((await owner.api['device.list']({ state: 'away' })).total)
  expect(needs.disk).toBe((await owner.api['device.list']({ need: 'disk' })).total)
  expect(Date.now() - Date.parse(lastSeenAt!)).toBeLessThan(3_600_000)
})

it.each(['?state=lost', '?need=sleep', '?search=a&search=b', `?search=${'x'.repeat(65)}`, '?x=1'])(
  'refuses %s',
  async (query) => {
    expect((await owner.get(identityPaths.consolePlaces + query)).status).toBe(400)
  },
)
