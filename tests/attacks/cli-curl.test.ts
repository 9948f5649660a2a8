/** `selvedge curl` sends a token: to the device of the command, below the path of the service, and nowhere else. */
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Ran } from '../harness/cli.ts'
import { runHere } from '../harness/cli-here.ts'
import { temporaryFolder } from '../harness/processes.ts'
import { type Recorder, startRecorder } from '../harness/recorder.ts'

const basePath = '/client/hello'
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let other: Recorder
let device: Recorder
let statedPath: string
let respond: (request: IncomingMessage, response: ServerResponse) => void

beforeAll(async () => {
  folder = await temporaryFolder()
  mkdirSync(join(folder.path, 'home'))
  other = await startRecorder()
  device = await startRecorder({
    play: (method) =>
      method === 'getContainers'
        ? { result: [{ id: 'client-hello', name: 'hello', basePath: statedPath, env: {} }] }
        : undefined,
    answer(request, response) {
      if (request.url === '/jsonrpc/v1') return false
      respond(request, response)
      return true
    },
  })
})
afterAll(async () => {
  await other.close()
  await device.close()
  await folder.remove()
})
beforeEach(() => {
  statedPath = basePath
  respond = (_, response) => response.end('hi')
  other.received.length = 0
  device.received.length = 0
})

const curl = (...args: string[]): Promise<Ran> =>
  runHere(folder.path, ['curl', ...args, '--url', device.url], {
    env: { HOME: join(folder.path, 'home'), SELVEDGE_ACCESS_TOKEN: 'secret-token' },
  })
/** Requests to services. */
const sent = () => device.received.filter((each) => !each.startsWith('POST /jsonrpc/v1'))

describe('the token', () => {
  it('is sent to the service, with the path, method, headers and body of the user', async () => {
    const ran = await curl('hello', 'items?limit=1', '-d', '{"a":1}', '-H', 'Content-Type: application/json')
    expect(ran).toMatchObject({ code: 0, out: 'hi\n', errors: '' })
    expect(sent()).toHaveLength(1)
    expect(sent()[0]).toMatch(/^POST \/client\/hello\/items\?limit=1\n/)
    expect(sent()[0]).toContain('Bearer secret-token')
    expect(sent()[0]).toMatch(/Content-Type\napplication\/json[\s\S]*\{"a":1\}$/)
  })

  it.each([
    '{other}',
    '{other}/x',
    'HTTPS://other.example/x',
    'file:///etc/passwd',
    '../other',
    '/../../jsonrpc/v1',
    '/%2e%2e/other',
    '/..\\..\\jsonrpc/v1',
    '/x/../../..',
    '\\..\\..',
  ])('is not sent with the path %s', async (path) => {
    const ran = await curl('hello', path.replace('{other}', other.url))
    expect(ran).toMatchObject({
      code: 2,
      out: '',
      errors: expect.stringMatching(/token is sent only|leads out/),
    })
    expect(sent()).toEqual([])
    expect(other.received).toEqual([])
  })

  it.each(['//other.example/x', '@other.example/x', ':80@other.example', '?x=//other.example', '#@other'])(
    'stays at the device with the path %s',
    async (path) => {
      await curl('hello', path)
      expect(sent()).toHaveLength(1)
      expect(sent()[0]).toMatch(/^GET \/client\/hello/)
    },
  )

  it.each([
    '@other.example',
    '.other.example/x',
    ':1@127.0.0.1',
    'http://other.example/',
    '/x y',
    '',
    '/a?b',
    '/%2e%2e/b',
  ])('is not sent where the runtime states the path %j for the service', async (path) => {
    statedPath = path
    const ran = await curl('hello')
    expect(ran.code).not.toBe(0)
    expect(sent()).toEqual([])
  })

  it.each([301, 302, 307, 308])('follows no redirect (%d) to another host', async (status) => {
    respond = (_, response) => void response.writeHead(status, { Location: `${other.url}/x` }).end()
    const ran = await curl('hello')
    expect(ran.errors).toContain(`it redirects to ${other.url}/x, which is not followed`)
    expect(ran.out).toBe(`HTTP ${status}, without a body\n`)
    expect(other.received).toEqual([])
  })

  it.each([
    'Authorization: Bearer other',
    'host: other.example',
    'Content-Length: 5',
    'Transfer-Encoding: chunked',
    'X\r\nHost: other.example',
    'X: a\r\nHost: other.example',
    'no colon',
    ': no name',
  ])('is not sent with the header %j', async (line) => {
    const ran = await curl('hello', '-H', line)
    expect(ran).toMatchObject({ code: 2, out: '' })
    expect(device.received).toEqual([])
  })
})

describe('an answer', () => {
  it('with control sequences does not reach the terminal as they are', async () => {
    respond = (_, response) =>
      void response.writeHead(200, { 'X-A': '\u009b2J' }).end('a\u001b]0;title\u0007b\u001b[2Jc\nline 2')
    const ran = await curl('hello', '-i')
    expect(ran.out).toMatch(/abc\nline 2\n$/)
    expect(ran.out).not.toMatch(/[\u001b\u009b\u0007]/)
  })

  it('of an error is printed, and the exit code is 1', async () => {
    respond = (_, response) => void response.writeHead(503).end('no')
    expect(await curl('hello')).toMatchObject({ code: 1, out: 'no\n' })
    expect(JSON.parse((await curl('hello', '--json')).out)).toMatchObject({ status: 503, body: 'no' })
  })

  it('that never ends is cut off, and the command ends', async () => {
    respond = (_, response) => {
      const write = () => {
        while (response.write('x'.repeat(65_536)));
      }
      response.on('drain', write)
      response.on('error', () => undefined)
      write()
    }
    const ran = await curl('hello')
    expect(ran).toMatchObject({ code: 1, out: '' })
    expect(ran.errors).toContain('more than 16777216 bytes')
  })

  it('that breaks off is an error, and leaves no file', async () => {
    respond = (_, response) => {
      response.writeHead(200, { 'Content-Length': '100' }).write('half')
      setImmediate(() => response.destroy())
    }
    const file = join(folder.path, 'out')
    for (const more of [[], ['-o', file]]) {
      const ran = await curl('hello', ...more)
      expect(ran).toMatchObject({ code: 1, out: '' })
      expect(ran.errors).toMatch(/closed within the answer|nothing answers/)
    }
    expect(() => readFileSync(file)).toThrow('ENOENT')
  })

  it('is written to a file byte by byte, and never through a link', async () => {
    const bytes = Buffer.from([0, 27, 255, 128, 10])
    respond = (_, response) => void response.end(bytes)
    const [file, link, target] = ['binary', 'link', 'target'].map((name) => join(folder.path, name))
    expect(await curl('hello', '-o', file!)).toMatchObject({ code: 0 })
    expect(readFileSync(file!)).toEqual(bytes)
    writeFileSync(target!, 'mine')
    symlinkSync(target!, link!)
    expect(await curl('hello', '-o', link!)).toMatchObject({ code: 2 })
    expect(readFileSync(target!, 'utf8')).toBe('mine')
    for (const each of [file!, link!, target!]) rmSync(each)
  })

  it('that changes the protocol is an error', async () => {
    const server = createServer((request, response) => {
      if (request.url !== '/jsonrpc/v1') {
        request.socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')
        return
      }
      response.end(
        JSON.stringify({ jsonrpc: '2.0', id: 1, result: [{ id: 'x', name: 'x', basePath, env: {} }] }),
      )
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const ran = await runHere(folder.path, ['curl', 'x', '--url', url], {
      env: { HOME: join(folder.path, 'home'), SELVEDGE_ACCESS_TOKEN: 'secret-token' },
    })
    expect(ran).toMatchObject({ code: 1, errors: expect.stringContaining('changing the protocol') })
    server.close()
    server.closeAllConnections()
  })
})
