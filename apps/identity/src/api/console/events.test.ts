import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createHttpApp } from '@selvedge/service-kit/http-app'
import { createLog } from '@selvedge/service-kit/log'
import { afterAll, afterEach, expect, it } from 'vitest'
import type { Nodes } from '../../registry/nodes/nodes.ts'
import { createEvents } from './events.ts'
import type { Places } from './places.ts'

const maxStreams = 50
/** Notifies the streams that a person was removed or signed out. */
let personChanged: (personId: string) => void
/** Whether the sessions of the streams are still there. */
let isAllowed: () => Promise<boolean> = async () => true
/** Streams that are open, oldest first: each follows the fixes of its account. */
const open: number[] = []
let opened = 0
const places: Pick<Places, 'watch'> = {
  watch: () => {
    const own = ++opened
    open.push(own)
    return () => void open.splice(open.indexOf(own), 1)
  },
}
const events = createEvents({
  nodes: { onChange: () => undefined } as unknown as Nodes,
  places: places as Places,
  describe: () => ({}) as never,
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
