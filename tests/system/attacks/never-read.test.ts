/** Readers that never read, one row for each stream that a daemon sends: its memory stays, and it goes on to serve others. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { discoveryPaths, identityPaths } from '@selvedge/protocol'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { collecting, type Memory, memoryOf } from '../../harness/collected-memory.ts'
import { type ConsoleSession, enterByLink } from '../../harness/console.ts'
import { type Program, startProgram, temporaryFolder } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'

/** Readers of one stream. */
const readers = 20
/**
 * They do not read until the memory of the daemon has grown by fewer than these megabytes in so many measurements, a tenth of a
 * second apart. Each stream brings fifty megabytes in a second where nothing holds it back.
 */
const steady = { mb: 4, measurements: 25 }
/** Megabytes by which the memory of a daemon may grow under all of them together. Usually 37 were measured, and 68 once. */
const maxMb = 128
/**
 * Before, readers that do read: until they have this many bytes, about what the sockets of readers that never read hold. The heap of
 * a thread of the store, which no signal collects, has its size then.
 */
const warmBytes = 100_000_000

const always = { 'MCM.IDLE_SEC': '0', 'MCM.ACCESS': 'public' }

/** Answers without end, logs without end, and asks others without reading what they answer. */
const source = `const line = 'x'.repeat(4000)
const kept = []
setInterval(() => { for (let at = 0; at < 40; at++) console.log(line) }, 10)
export default { fetch: async (request) => {
  const { pathname, search } = new URL(request.url)
  if (pathname === '/endless') return new Response(new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(65536)) }))
  if (pathname === '/socket') {
    const { socket, response } = Deno.upgradeWebSocket(request)
    const text = 'x'.repeat(100_000)
    // Little is kept in the function itself, whose memory is limited.
    let timer
    socket.onopen = () => {
      timer = setInterval(() => { for (let at = 0; at < 20 && socket.bufferedAmount < 500_000; at++) socket.send(text) }, 5)
    }
    socket.onclose = () => clearInterval(timer)
    return response
  }
  if (pathname === '/ask') for (let at = 0; at < ${readers}; at++) kept.push(await fetch(decodeURIComponent(search.slice(1))))
  return new Response(kept.map(({ status }) => status).join())
} }`

let services: Services
let service: { readonly id: string; readonly path: string }
/** The console, with a discovery service and an audit log that have much to tell. */
let pages: { readonly program: Program; readonly session: ConsoleSession; stop(): Promise<void> }
let elsewhere: Server
const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

/** Sends pieces as fast as they are taken, without end. */
function pour(response: ServerResponse, pieceAt: (at: number) => string | Buffer): void {
  let at = 0
  const fill = () => {
    while (!response.destroyed && response.write(pieceAt(at++)));
  }
  response.on('drain', fill)
  fill()
}

const piece = Buffer.alloc(65_536, 'x')
/** Of a device of the account: those of others are left out. */
const places = `["${'1'.padStart(56, '0')}",1.5,2.5,3],`.repeat(1000)
/** One of 200 devices with a long name: what the console tells each of its readers twice a second. */
const fixAt = (at: number) =>
  `data: ${JSON.stringify({ nodeId: `${at % 200}`.padEnd(4000, 'n'), longitude: 1, latitude: 2, speed: 0, bearing: 0, fixedAt: '2026-01-01T00:00:00.000Z' })}\n\n`

function answer({ url = '' }: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200)
  if (url === discoveryPaths.accountPlaces) pour(response, () => places)
  else if (url === discoveryPaths.accountStream) {
    // A round of all devices each 100 ms: no more than the console takes.
    let at = 0
    const round = () => {
      for (let left = 200; left > 0; left--) response.write(fixAt(at++))
    }
    const timer = setInterval(round, 100)
    response.on('close', () => clearInterval(timer))
  } else pour(response, () => piece)
}

async function startConsole() {
  const folder = await temporaryFolder()
  const program = await startProgram('identity', {
    SELVEDGE_STATE: folder.path,
    SELVEDGE_IDENTITY_PORT: '0',
    SELVEDGE_DISCOVERY_URL: urlOf(elsewhere),
    ...collecting,
  })
  const session = await enterByLink(program.url, program.ready.setup!, 'ada@example.com')
  const database = new DatabaseSync(join(folder.path, 'identity', 'identity.db'))
  // The time comes first in the ID, as in `audit.ts`: the service removes rows that are too old.
  const now = Date.now().toString(36).padStart(9, '0')
  database.exec(`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 9000)
    INSERT INTO audit SELECT printf('${now}%016d', n), ${Date.now()}, (SELECT account_id FROM audit WHERE account_id <> '' LIMIT 1),
      'ada@example.com', 'project.create', '', '127.0.0.1', 'ok', printf('%.4000c', 'x') FROM numbers`)
  // 90 MB of devices, each with as many services as it may state.
  database.exec(`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 6000)
    INSERT INTO nodes (node_id, name, account_id, hmac_node_key, hmac_cloud_key, hmac_secret, enrolled_at, last_seen_at, services)
    SELECT printf('%056d', n), 'device', (SELECT account_id FROM accounts LIMIT 1), '', '', '', n, n,
      '[' || substr(replace(printf('%030d', 0), '0', ',' || json_object('id', printf('%.128c', 'x'), 'name', 'x',
        'image', printf('%.255c', 'x'), 'state', 'running')), 2) || ']' FROM numbers`)
  database.close()
  return {
    program,
    session,
    async stop() {
      await program.stop()
      await folder.remove()
    },
  }
}

beforeAll(async () => {
  elsewhere = createServer(answer).listen(0, '127.0.0.1')
  await once(elsewhere, 'listening')
  services = await startServices({ env: collecting })
  const record = await services.deploy('endless', source, {
    ...always,
    'MCM.OUTBOUND': new URL(urlOf(elsewhere)).host,
  })
  service = { id: record.id, path: record.basePath }
  expect((await services.call(service.path)).status).toBe(200)
  pages = await startConsole()
})
afterAll(async () => {
  elsewhere?.closeAllConnections()
  elsewhere?.close()
  await pages?.stop()
  await services?.stop()
})

const opened: Socket[] = []
const closeAll = () => {
  for (const socket of opened.splice(0)) socket.destroy()
}
afterEach(closeAll)

/** Whether what is opened is read. It is for a while at first, so that memory which a stream takes anyhow is no growth. */
let isRead = false
/** Bytes that were read. */
let received = 0

/** Sends a request, and reads no more of the answer than its first line, or all of it. A busy daemon is asked again. */
async function open(url: string, head: string): Promise<void> {
  const { hostname, port, host, pathname, search } = new URL(url)
  for (;;) {
    const socket = connect(Number(port), hostname)
    opened.push(socket)
    socket.on('error', () => undefined)
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\n${head}\r\n`)
    await once(socket, 'readable')
    if (isRead)
      return void socket.on('data', (chunk) => {
        received += chunk.length
      })
    const status = String(socket.read(12))
    if (status !== 'HTTP/1.1 503') return expect(status).toMatch(/^HTTP\/1\.1 (?:200|101)$/)
    socket.destroy()
    await sleep(500)
  }
}

const openAll = (url: string, head: string, count = readers) =>
  Promise.all(Array.from({ length: count }, () => open(url, head)))

const ofDeveloper = () => `Authorization: Bearer ${services.token}\r\n`
const ofRuntime = (path: string, head = '') => openAll(services.url() + path, ofDeveloper() + head)
/** Each with a proof of its own: a proof works once. */
const ofConsole = (path: string, count = readers) =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const { Cookie, DPoP } = await pages.session.signed('GET', path)
      await open(pages.program.url + path, `Cookie: ${Cookie}\r\nDPoP: ${DPoP}\r\n`)
    }),
  )

/** The function itself asks, and does not read. */
async function askFrom(url: string): Promise<void> {
  const { text } = await services.call(`${service.path}/ask?${encodeURIComponent(url)}`)
  expect(text.split(',').slice(-readers)).toEqual(Array(readers).fill('200'))
}

const handshake =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'

const streams: readonly {
  readonly what: string
  /** The source file that writes to the stream. */
  readonly opens: string
  readonly of: 'runtime' | 'console'
  readonly open: () => Promise<unknown>
}[] = [
  {
    what: 'the answer of a service',
    opens: 'apps/runtime/src/services/gateway/client-answer.ts',
    of: 'runtime',
    open: () => ofRuntime(`${service.path}/endless`),
  },
  {
    what: 'a WebSocket of a service',
    opens: 'apps/runtime/src/services/gateway/upgrade.ts',
    of: 'runtime',
    open: () => ofRuntime(`${service.path}/socket`, handshake),
  },
  {
    what: 'the answer of another service, asked by a function',
    opens: 'apps/runtime/src/services/gateway/client-answer.ts',
    of: 'runtime',
    open: () => askFrom(`${services.url()}${service.path}/endless`),
  },
  {
    what: 'the answer of another host, asked by a function',
    opens: 'apps/runtime/src/services/gateway/egress.ts',
    of: 'runtime',
    open: () => askFrom(urlOf(elsewhere)),
  },
  {
    what: 'answers of the REST interface to requests on one connection',
    opens: 'packages/service-kit/src/http/in-turn.ts',
    of: 'runtime',
    open: () => {
      const url = `${services.url()}/mcm/v1/containers/${service.id}/logs?tail=1000`
      const again = `\r\nGET ${url.slice(services.url().length)} HTTP/1.1\r\nHost: ${new URL(url).host}\r\n${ofDeveloper()}`
      return openAll(url, ofDeveloper() + again.repeat(30))
    },
  },
  {
    what: 'the events of the console',
    opens: 'packages/service-kit/src/http-app/event-stream.ts',
    of: 'console',
    open: () => ofConsole(identityPaths.consoleEvents),
  },
  {
    what: 'all places of an account',
    opens: 'apps/identity/src/api/console/discovery-stream.ts',
    of: 'console',
    // As many as one account may have under way.
    open: () => ofConsole(identityPaths.consolePlaces, 8),
  },
  {
    what: 'the audit log of an account',
    opens: 'apps/identity/src/api/console/account-exports.ts',
    of: 'console',
    // As many as one account may have under way.
    open: () => ofConsole(identityPaths.consoleAudit, 8),
  },
  {
    what: 'an export of devices',
    opens: 'apps/identity/src/api/console/account-exports.ts',
    of: 'console',
    open: () => ofConsole(identityPaths.consoleDevicesJson, 2),
  },
]

const daemonOf = (of: 'runtime' | 'console'): Program =>
  of === 'runtime' ? services.stack.runtime : pages.program

/**
 * Megabytes, once they grow no more: it does not return while they do. What is used counts as well: a process keeps what its streams
 * needed while they were read, and fills that first.
 */
async function steadyGrowth(daemon: ChildProcess, before: Memory): Promise<number> {
  const growth = async () => {
    const { resident, used } = await memoryOf(daemon)
    return Math.max(resident - before.resident, used - before.used)
  }
  let most = await growth()
  let last = most
  for (let left = steady.measurements; left > 0; left--) {
    await sleep(100)
    last = await growth()
    if (last < most + steady.mb) continue
    most = last
    left = steady.measurements + 1
  }
  return last
}

it.each(streams)('$what costs bounded memory', { timeout: 300_000 }, async ({ of, open: openStream }) => {
  const { process: daemon, url } = daemonOf(of)
  isRead = true
  received = 0
  await openStream()
  if (opened.length > 0) await expect.poll(() => received, { timeout: 120_000 }).toBeGreaterThan(warmBytes)
  closeAll()
  isRead = false
  const before = await memoryOf(daemon)
  await openStream()
  // What no reader reads stays or grows. What the daemon needs only while it works, such as a message being made, is freed.
  await expect.poll(() => steadyGrowth(daemon, before)).toBeLessThan(maxMb)
  expect((await fetch(`${url}/healthz`)).status).toBeLessThan(500)
})
