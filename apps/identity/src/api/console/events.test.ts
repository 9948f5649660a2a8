import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { AccountFix } from '@selvedge/protocol'
import { createHttpApp } from '@selvedge/service-kit/http-app'
import { createLog } from '@selvedge/service-kit/log'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Nodes } from '../../registry/nodes/nodes.ts'
import { createEvents } from './events.ts'
import type { Places } from './places.ts'

const maxStreams = 50
/** Notifies the streams that a device changed. */
let deviceChanged: (node: { nodeId: string; accountId: string; removedAccount: string }) => void
/** Notifies the newest stream of a fix. */
let located: (fix: AccountFix) => void
/** Notifies the streams that a person was removed or signed out. */
let personChanged: (personId: string) => void
/** Whether the sessions of the streams are still there. */
let isAllowed: () => Promise<boolean> = async () => true
/** Streams that are open, oldest first: each follows the fixes of its account. */
const open: number[] = []
let opened = 0
const places: Pick<Places, 'watch'> = {
  watch: (_, listener) => {
    located = listener
    const own = ++opened
    open.push(own)
    return () => void open.splice(open.indexOf(own), 1)
  },
}
const events = createEvents({
  nodes: {
    onChange: (listener: never) => {
      deviceChanged = listener
    },
  } as unknown as Nodes,
  places: places as Places,
  describe: ({ nodeId }) => ({ nodeId }) as never,
  changes: {
    onChange: (_, listener) => {
      personChanged = listener as typeof personChanged
      return () => undefined
    },
  },
})
const app = createHttpApp(createLog({ service: 'identity', level: 'error', now: Date.now }), 1024, {
  vital: [],
})
app.get('/:account', (request, reply) => {
  const { account: accountId } = request.params as { account: string }
  const viewer = { membership: { accountId }, person: { personId: 'p' } }
  events.open(viewer as Parameters<typeof events.open>[0], request, reply, () => isAllowed())
})
const url = await app.listen({ port: 0, host: '127.0.0.1' })
const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
  vi.useRealTimers()
  isAllowed = async () => true
  return expect.poll(() => open).toEqual([])
})
afterAll(() => app.close())

/** A reader that opens a stream and reads no more than its head. */
async function openStream(account: string): Promise<void> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => undefined)
  socket.write(`GET /${account} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  await once(socket, 'data')
  socket.pause()
}

it('the stream of a person ends when the session has, and when that cannot be read', async () => {
  await openStream('own')
  isAllowed = async () => false
  personChanged('another person')
  await new Promise((resolve) => setImmediate(resolve))
  expect(open).toHaveLength(1)
  personChanged('p')
  await expect.poll(() => open).toEqual([])
  await openStream('own')
  personChanged('')
  await expect.poll(() => open).toEqual([])
  await openStream('own')
  isAllowed = () => Promise.reject(new Error('the database is away'))
  personChanged('p')
  await expect.poll(() => open).toEqual([])
})

it('an account has 50 streams: one more ends the oldest at once, though nothing reads it', async () => {
  await openStream('other')
  for (let at = 0; at < maxStreams; at++) await openStream('own')
  expect(open).toHaveLength(maxStreams + 1)
  for (let at = 0; at < 3; at++) await openStream('own')
  expect(open).toHaveLength(maxStreams + 1)
  // The first one is of another account, and stays.
  const first = open[0]!
  expect(open[1]).toBe(first + 4)
})

describe('a reader', () => {
  /** Opens a stream, and resolves with what comes over it. */
  async function read(account: string) {
    await openStream(account)
    const socket = sockets.at(-1)!
    let text = ''
    socket.on('data', (data) => {
      text += data
    })
    socket.resume()
    const eventsIn = () => [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!) as object)
    return { socket, eventsIn, text: () => text }
  }
  const fix = (nodeId: string, longitude = 0): AccountFix => ({
    ...{ nodeId, longitude, latitude: 0, speed: 0, bearing: 0, fixedAt: '2026-01-01T00:00:00.000Z' },
  })
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  })

  it('gets the devices of its account that change, and learns which one was removed', async () => {
    const first = await read('own')
    const [own, other] = [await read('own'), await read('other')]
    first.socket.destroy()
    await expect.poll(() => open).toHaveLength(2)
    deviceChanged({ nodeId: 'n', accountId: 'own', removedAccount: 'other' })
    deviceChanged({ nodeId: 'm', accountId: 'account without readers', removedAccount: '' })
    deviceChanged({ nodeId: 'n', accountId: '', removedAccount: 'own' })
    deviceChanged({ nodeId: 'o', accountId: 'other', removedAccount: '' })
    await expect.poll(own.eventsIn).toEqual([
      { device: { nodeId: 'n' }, isOwn: true },
      { device: { nodeId: 'n' }, isOwn: false },
    ])
    await expect.poll(other.eventsIn).toEqual([{ device: { nodeId: 'o' }, isOwn: true }])
  })

  it('gets the newest fix of each device twice a second, and at most 500 in an event', async () => {
    const { eventsIn } = await read('own')
    located(fix('n', 1))
    located(fix('n', 2))
    vi.advanceTimersByTime(499)
    await new Promise((resolve) => setImmediate(resolve))
    expect(eventsIn()).toEqual([])
    vi.advanceTimersByTime(1)
    vi.advanceTimersByTime(500)
    for (let at = 0; at < 501; at++) located(fix(`n${at}`))
    vi.advanceTimersByTime(500)
    await expect.poll(eventsIn).toHaveLength(3)
    const [first, ...rest] = eventsIn() as { fixes: AccountFix[] }[]
    expect(first).toEqual({ fixes: [fix('n', 2)] })
    expect(rest.map(({ fixes }) => fixes.length)).toEqual([500, 1])
  })

  it('has a session, which is checked every 30 seconds', async () => {
    await read('own')
    vi.advanceTimersByTime(30_000)
    await new Promise((resolve) => setImmediate(resolve))
    expect(open).toHaveLength(1)
    isAllowed = async () => false
    vi.advanceTimersByTime(29_999)
    await new Promise((resolve) => setImmediate(resolve))
    expect(open).toHaveLength(1)
    vi.advanceTimersByTime(1)
    await expect.poll(() => open).toEqual([])
    // Nothing is done for a stream after its end.
    expect(vi.getTimerCount()).toBe(0)
  })
})
