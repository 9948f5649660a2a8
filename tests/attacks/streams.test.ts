/** Clients that open a stream and never read it: the runtime holds no more of it than its buffers. */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Services, startServices } from '../harness/services.ts'
import { opens } from '../harness/unread.ts'

let services: Services
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services?.stop())

const opened: Socket[] = []
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy()
})

function open(start: string): Socket {
  const { port, host } = new URL(services.url())
  const socket = connect(Number(port), '127.0.0.1')
  opened.push(socket)
  socket.on('error', () => undefined)
  socket.pause()
  socket.write(`${start} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${services.token}\r\n`)
  return socket
}

/** Kilobytes of memory that the runtime has. */
const memory = (): number =>
  Number(
    /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${services.stack.runtime.process.pid}/status`, 'utf8'))?.[1],
  )

/** Kilobytes that tell growth from the noise of the other work of a runtime. */
const noise = 2000
/** Checks without growth, 50 ms apart, after which memory has its size. */
const steadyChecks = 12

/**
 * How far memory grows until it has its size, in kilobytes, or until it is beyond a bound.
 * @param isDone whether enough was sent; memory has no size before
 */
async function growth(bound: number, isDone: () => boolean | Promise<boolean> = () => true): Promise<number> {
  const before = memory()
  let most = 0
  for (let steady = 0; most < bound && (steady < steadyChecks || !(await isDone())); ) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    const now = memory() - before
    steady = now > most + noise ? 0 : steady + 1
    most = Math.max(most, now)
  }
  return most
}

const noisy = `let lines = 0
const line = 'x'.repeat(8000)
setInterval(() => { for (let at = 0; at < 20; at++) console.log(++lines + ' ' + line) }, 10)
export default { fetch: async (request) => {
  const path = new URL(request.url).pathname
  if (path === '/flood') return new Response(new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(65536)) }))
  if (path === '/ignore') await new Promise(() => undefined)
  if (path === '/socket') {
    const { socket, response } = Deno.upgradeWebSocket(request)
    const text = 'x'.repeat(100_000)
    socket.onopen = () => setInterval(() => {
      for (let at = 0; at < 20 && socket.readyState === 1 && socket.bufferedAmount < 5_000_000; at++) socket.send(text)
    }, 5)
    return response
  }
  return new Response(String(lines))
} }`

describe('a reader that never reads', () => {
  let id = ''
  let basePath = ''
  beforeAll(async () => {
    const record = await services.deploy('noisy', noisy, {
      'MCM.IDLE_SEC': '0',
      'MCM.MAX_EXECUTION_TIME_SEC': '60',
    })
    id = record.id
    basePath = record.basePath
    await services.call(basePath)
  })

  it(
    'of a log that is followed costs bounded memory, and later learns what it missed',
    opens('packages/service-kit/src/http/bounded-writer.ts'),
    async () => {
      const sockets = Array.from({ length: 5 }, () =>
        open(`GET /mcm/v1/containers/${id}/logs?follow=true&tail=1`),
      )
      for (const socket of sockets) socket.write('\r\n')
      const linesOf = async () => Number((await services.call(basePath)).text)
      const before = await linesOf()
      // 8 kB a line for each of five readers: 160 megabytes where they were all stored.
      const grown = await growth(120_000, async () => (await linesOf()) > before + 4000)
      expect(grown).toBeLessThan(120_000)
      let text = ''
      const [socket] = sockets
      socket!.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      socket!.resume()
      await expect.poll(() => text).toMatch(/"stream":"runtime","text":"\d+ older lines were left out here/)
    },
  )

  const handshake =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'
  it.each([
    ['of an answer that never ends', 'GET', 'flood', 'Accept: */*\r\n\r\n'],
    ['of a WebSocket', 'GET', 'socket', handshake],
  ])('%s costs bounded memory', async (_, method, path, rest) => {
    for (let at = 0; at < 5; at++) open(`${method} ${basePath}/${path}`).write(rest)
    expect(await growth(80_000)).toBeLessThan(80_000)
  })

  it(
    'of a request is not sent more than the buffers on the way hold',
    opens('apps/runtime/src/services/gateway/send-request.ts'),
    async () => {
      const socket = open(`POST ${basePath}/ignore`)
      socket.write('Content-Length: 1000000000\r\n\r\n')
      const piece = Buffer.alloc(100_000)
      let sent = 0
      const fill = () => {
        do sent += piece.length
        while (socket.write(piece))
      }
      socket.on('drain', fill)
      fill()
      expect(await growth(80_000)).toBeLessThan(80_000)
      expect(sent - socket.writableLength).toBeLessThan(50_000_000)
    },
  )
})

describe('the follower of a log', () => {
  it('is let go when the container is removed', async () => {
    const { id } = await services.deploy('brief', 'export default { fetch: () => new Response("x") }', {
      'MCM.IDLE_SEC': '0',
    })
    const socket = open(`GET /mcm/v1/containers/${id}/logs?follow=true`)
    socket.write('\r\n')
    socket.resume()
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    await expect.poll(() => text).toMatch(/^HTTP\/1\.1 200 /)
    await services.runtime().removeContainer({ edgeAccessToken: services.token, id })
    await expect.poll(() => text).toMatch(/\r\n0\r\n\r\n$/)
  })

  it('is let go when its account is removed', async () => {
    const { id } = await services.deploy('last', 'export default { fetch: () => new Response("x") }')
    const socket = open(`GET /mcm/v1/containers/${id}/logs?follow=true`)
    socket.write('\r\n')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.resume()
    await expect.poll(() => text).toMatch(/^HTTP\/1\.1 200 /)
    await services.runtime().unassociateAccount({ edgeAccessToken: services.token })
    await expect.poll(() => text).toMatch(/\r\n0\r\n\r\n$/)
  })
})
