/** What the console requests of the discovery service, and how it deals with one that sends without end, or something else. */
import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { type AccountFix, discoveryPaths } from '@selvedge/protocol'
import { type PersonClaims, personProfile } from '@selvedge/protocol/tokens'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { directNetwork } from '../../../../../tests/harness/direct-network.ts'
import { createPlaces, type Places } from './places.ts'

const clock = createFakeClock()
let server: Server
let places: Places
/** Answers a request. */
let answer: RequestListener
/** Claims of the tokens that were issued, with their types. */
let issued: (PersonClaims & { typ: string })[]
let log: ReturnType<typeof createMemoryLog>
beforeEach(async () => {
  answer = (_, response) => void response.write('[')
  issued = []
  log = createMemoryLog()
  server = createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  places = createPlaces({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    network: directNetwork,
    clock,
    log,
    keys: {
      sign(typ: string, claims: PersonClaims) {
        issued.push({ typ, ...claims })
        return `token of ${claims.account_id}`
      },
    } as never,
    issuer: () => 'https://identity.example',
  })
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  places.stop()
  server.close().closeAllConnections()
})

it('eight of one account are read at the same time; a further one has room when one of them ends', async () => {
  const read = await Promise.all(Array.from({ length: 8 }, () => places.all('a')))
  expect(read).not.toContain(undefined)
  expect(await places.all('a')).toBeUndefined()
  const ofOther = await places.all('b')
  expect(ofOther).toBeDefined()
  const ended = once(read[0]!, 'close')
  read[0]!.destroy()
  await ended
  const next = await places.all('a')
  expect(next).toBeDefined()
  for (const each of [...read, ofOther, next]) each?.destroy()
})

/** Answers each request with JSON, and resolves with what was requested. */
function answerWith(json: unknown): { path: string | undefined; authorization: string | undefined }[] {
  const requests: ReturnType<typeof answerWith> = []
  answer = ({ url, headers }, response) => {
    requests.push({ path: url, authorization: headers.authorization })
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(json))
  }
  return requests
}
const fix = (nodeId: string): AccountFix => ({
  ...{ nodeId, longitude: 1, latitude: 2, speed: 3, bearing: 4, fixedAt: '2026-01-01T00:00:00.000Z' },
})
const authorization = 'Bearer token of a'

it('a token names the account, and is good for locations for two minutes', async () => {
  answerWith([])
  await places.find('a', [])
  await places.find('a', [])
  const now = clock.now() / 1000
  const id = expect.stringMatching(/^[0-9a-f-]{36}$/)
  expect(issued[0]).toEqual({
    ...{
      typ: personProfile.typ,
      iss: 'https://identity.example',
      sub: 'a',
      aud: 'urn:selvedge:discovery',
      account_id: 'a',
    },
    ...{ client_id: 'selvedge-console', azp: 'selvedge-console', scope: 'edge:clusters' },
    ...{ iat: now, exp: now + 120, auth_time: now, jti: id, sid: id },
  })
  expect(issued[1]!.jti).not.toBe(issued[0]!.jti)
})

it('the last fixes of nodes are found by node', async () => {
  const requests = answerWith([fix('n'), fix('m')])
  expect(await places.find('a', ['n', 'm'])).toEqual(
    new Map([
      ['n', fix('n')],
      ['m', fix('m')],
    ]),
  )
  expect(requests).toEqual([{ path: `${discoveryPaths.accountFixes}?nodes=n,m`, authorization }])
})

it('a track has the last 2000 points', async () => {
  const track = { data: [[1, 2, 3]], next: null, until: null }
  const requests = answerWith(track)
  expect(await places.track('a', 'n')).toEqual(track)
  const path = `${discoveryPaths.accountTrackOf('n')}?limit=2000`
  expect(requests).toEqual([{ path, authorization }])
})

it('what is not what was requested is nothing', async () => {
  answerWith({ error: 'x' })
  expect([await places.find('a', ['n']), await places.track('a', 'n')]).toEqual([undefined, undefined])
  answer = ({ url }, response) =>
    url === '/elsewhere' ? response.end('[]') : response.writeHead(302, { Location: '/elsewhere' }).end()
  expect(await places.find('a', ['n'])).toBeUndefined()
  answer = (_, response) => response.writeHead(500).end('[]')
  expect(await places.all('a')).toBeUndefined()
})

describe('new fixes of an account', () => {
  const streams: { request: IncomingMessage; response: ServerResponse }[] = []
  beforeEach(() => {
    streams.length = 0
    answer = (request, response) => {
      response.write(': welcome\n\n')
      streams.push({ request, response })
    }
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  })
  /** Until a condition holds, by a clock that no test sets. */
  const until = (condition: () => boolean) => expect.poll(condition, { interval: 1 }).toBe(true)
  const send = (at: number, json: unknown) => streams[at]!.response.write(`data: ${JSON.stringify(json)}\n\n`)

  it('come over one stream for all who watch it, until the last of them stops', async () => {
    const [one, other]: [AccountFix[], AccountFix[]] = [[], []]
    const stopOne = places.watch('a', (each) => one.push(each))
    const stopOther = places.watch('a', (each) => other.push(each))
    await until(() => streams.length === 1)
    const { url, headers } = streams[0]!.request
    expect([url, headers.authorization]).toEqual([discoveryPaths.accountStream, authorization])
    send(0, { nodeId: 'no fix' })
    send(0, fix('n'))
    await until(() => other.length > 0)
    stopOne()
    send(0, fix('m'))
    await until(() => other.length > 1)
    expect([one, other]).toEqual([[fix('n')], [fix('n'), fix('m')]])
    stopOther()
    await until(() => streams[0]!.response.destroyed)
    expect(log.lines).toEqual([])
    // Who watches later has a stream of its own.
    places.watch('a', () => undefined)
    await until(() => streams.length === 2)
    places.watch('b', () => undefined)
    await until(() => streams.length === 3)
    places.stop()
    await until(() => streams.every(({ response }) => response.destroyed))
    vi.advanceTimersByTime(2000)
    await until(() => vi.getTimerCount() === 0)
    expect(streams).toHaveLength(3)
  })

  it('come again two seconds after a stream failed', async () => {
    places.watch('a', () => undefined)
    await until(() => streams.length === 1)
    send(0, 'x'.repeat(20_000))
    await until(() => log.lines.length > 0)
    expect(log.lines[0]).toMatch(/the discovery service is not followed.*it sent an event that is too long/)
    await until(() => vi.getTimerCount() === 1)
    vi.advanceTimersByTime(1999)
    expect(issued).toHaveLength(1)
    vi.advanceTimersByTime(1)
    await until(() => streams.length === 2)
  })

  it('come at once after the token of a stream expired', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(5000)
    places.watch('a', () => undefined)
    await until(() => streams.length === 1)
    now.mockReturnValue(125_000)
    streams[0]!.response.end()
    await until(() => streams.length === 2)
  })
})
