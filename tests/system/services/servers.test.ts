/** Programs for `node:http` that listen run in functions as they are; and what hostile or mistaken ones do with that. */
import { once } from 'node:events'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import type { ContainerRecord } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Services, startServices } from '../../harness/services.ts'

let services: Services
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services.stop())

const open = { 'MCM.ACCESS': 'public' }
let made = 0
const deploy = (source: string, env: Record<string, string> = {}) =>
  services.deploy(`program-${++made}`, source, { ...open, ...env })
const program = (code: string, env?: Record<string, string>) =>
  deploy(`import http from 'node:http'\nimport net from 'node:net'\n${code}`, env)

const call = async ({ basePath }: ContainerRecord, path = '', init = {}) => {
  const { status, text } = await services.call(basePath + path, init)
  return `${status} ${text}`
}
const refusal = (source: Promise<unknown>): Promise<string> =>
  source.then(
    () => 'deployed',
    (cause: Error) => cause.message,
  )
async function log({ id }: ContainerRecord): Promise<string> {
  const { lines } = await services
    .runtime()
    .getContainerLogs({ edgeAccessToken: services.token, id, tail: 200 })
  return lines.map(({ text }) => text).join('\n')
}
const failed = /^500 .*the service failed; its log has the cause/

/** A request that the test breaks off itself. */
function begin({ basePath }: ContainerRecord, path: string) {
  const sent: ClientRequest = httpRequest(services.url() + basePath + path, { agent: false }).end()
  sent.on('error', () => undefined)
  const answer = once(sent, 'response').then(([response]) => response as IncomingMessage)
  return { sent, answer }
}

describe('a program that listens', () => {
  it('answers as it does on a port, with its address, its callback and its event', async () => {
    const found = await program(`
      const seen = []
      const server = http.createServer((request, response) => {
        response.setHeader('Content-Type', 'application/json')
        response.end(JSON.stringify({ url: request.url, method: request.method, seen, address: server.address(), listening: server.listening }))
      })
      server.on('listening', () => seen.push('event'))
      server.listen(3000, () => seen.push('callback'))
      seen.push(server.listening)`)
    const { text } = await services.call(`${found.basePath}/a?b=1`, { method: 'PUT' })
    expect(JSON.parse(text)).toEqual({
      url: expect.stringMatching(/\/a\?b=1$/),
      method: 'PUT',
      seen: [true, 'event', 'callback'],
      address: { address: '::', family: 'IPv6', port: 3000 },
      listening: true,
    })
  })

  it.each([
    ['a host', "3000, '127.0.0.1'", '127.0.0.1 3000'],
    ['options', "{ port: '3001', host: 'localhost' }", '127.0.0.1 3001'],
    ['no port', 'process.env.PORT', ':: 8080'],
    ['port 0', '0', ':: 8080'],
    ['nothing', '', ':: 8080'],
  ])('listens with %s', async (_, given, expected) => {
    const found = await program(`
      const server = http.createServer((_, response) => response.end(server.address().address + ' ' + server.address().port))
      server.listen(${given})`)
    expect(await call(found)).toBe(`200 ${expected}`)
  })

  it('is a script of CommonJS, too', async () => {
    const found = await deploy(`
      const http = process.getBuiltinModule('node:http')
      http.createServer((_, response) => response.end('script')).listen(3000)`)
    expect(await call(found)).toBe('200 script')
  })

  it('is ready once it listens, however late that is', async () => {
    const found = await program(
      `setTimeout(() => http.createServer((_, response) => response.end('late')).listen(3000), 1500)`,
    )
    expect(await call(found)).toBe('200 late')
  })

  it('has the storage of the function, and a handler for times', async () => {
    const found = await program(`
      let storage
      export default { scheduled(event, env, ctx) { storage = ctx.storage; ctx.storage.setItem('a', event.cron) } }
      http.createServer((_, response) => response.end(String(storage?.getItem('a')))).listen(3000)`)
    expect(await call(found)).toBe('200 undefined')
    await services
      .runtime()
      .runScheduled({ edgeAccessToken: services.token, id: found.id, cron: '1 2 3 4 *' })
    expect(await call(found)).toBe('200 1 2 3 4 *')
  })

  it('streams in both directions, and is read no faster than its caller reads', async () => {
    const found = await program(`
      let written = 0
      http.createServer((request, response) => {
        if (request.url.endsWith('/echo')) return request.pipe(response)
        if (request.url.endsWith('/written')) return response.end(String(written))
        const chunk = Buffer.alloc(65536)
        const more = () => { while (!response.destroyed) { written += 65536; if (!response.write(chunk)) break } }
        response.on('drain', more); more()
      }).listen(3000)`)
    const body = 'x'.repeat(50_000)
    expect(await call(found, '/echo', { method: 'POST', body })).toBe(`200 ${body}`)

    const endless = begin(found, '/endless')
    const paused = await endless.answer
    paused.pause()
    const written = async () => Number((await call(found, '/written')).slice(4))
    let before = -1
    await expect
      .poll(async () => {
        const isSame = before === (before = await written())
        return isSame
      })
      .toBe(true)
    // What the sockets between the two hold.
    expect(before).toBeLessThan(64 * 1024 * 1024)
    endless.sent.destroy()
  })

  it('notices that its caller leaves', async () => {
    const found = await program(`
      let closed = 0
      http.createServer((request, response) => {
        if (request.url.endsWith('/closed')) return response.end(String(closed))
        response.on('close', () => { if (!response.writableFinished) closed++ })
        response.write('begun')
      }).listen(3000)`)
    const { sent, answer } = begin(found, '/')
    await once(await answer, 'data')
    sent.destroy()
    await expect.poll(() => call(found, '/closed')).toBe('200 1')
  })

  it('answers no requests after close, which waits for those under way; another server may listen then', async () => {
    const found = await program(`
      const seen = []
      let last
      const server = http.createServer((request, response) => {
        if (request.url.endsWith('/close')) {
          last = response
          response.write('closing')
          server.close(() => seen.push('closed'))
          seen.push(server.listening, server.address())
          setTimeout(() => { seen.push('waited'); next.listen(3000); response.end() }, 200)
        } else response.end('first')
      })
      const next = http.createServer((_, response) => response.end(JSON.stringify(seen)))
      server.listen(3000)`)
    expect(await call(found)).toBe('200 first')
    const { answer } = begin(found, '/close')
    const closing = await answer
    await once(closing, 'data')
    expect(await call(found)).toMatch(failed)
    closing.resume()
    await once(closing, 'end')
    await expect.poll(() => call(found)).toBe('200 [false,null,"waited","closed"]')
  })
})

describe('a program that makes a mistake', () => {
  it.each([
    ['throws', 'throw new Error("broken")'],
    ['rejects', 'return Promise.reject(new Error("broken"))'],
    ['destroys its request', 'request.destroy(new Error("broken"))'],
  ])('fails alone if its listener %s', async (_, code) => {
    const found = await program(`
      http.createServer((request, response) => {
        if (request.url.endsWith('/next')) return response.end('next')
        ${code}
      }).listen(3000)`)
    expect(await call(found)).toMatch(failed)
    expect(await call(found, '/next')).toBe('200 next')
    expect(await log(found)).toMatch(/broken|hang up/)
  })

  it('fails without a listener of requests', async () => {
    const found = await program('http.createServer().listen(3000)')
    expect(await call(found)).toMatch(failed)
    expect(await log(found)).toMatch(/no listener of "request"/)
  })

  it('is refused if two servers listen, by name', async () => {
    const two = `
      const answer = (_, response) => response.end('first')
      http.createServer(answer).listen(3000)
      const second = http.createServer(answer)`
    expect(await refusal(program(`${two}\nsecond.listen(9090)`))).toMatch(
      /port 9090: a function has one server, and one listens on port 3000 already/,
    )
    const handled = await program(
      `${two}\nsecond.on('error', ({ name, code, syscall }) => console.log(name, code, syscall)).listen(3000)`,
    )
    expect(await call(handled)).toBe('200 first')
    expect(await log(handled)).toContain('NotCapable EACCES listen')
  })

  it('is refused if it exports a handler, too', async () => {
    const exported = 'export default { fetch: () => new Response("handler") }'
    expect(await refusal(program(`${exported}\nhttp.createServer().listen(3000)`))).toMatch(
      /exports a handler, and its http\.Server listens on port 3000: a function has one of them/,
    )
    const late = await program(`
      export default {
        async fetch() {
          const server = http.createServer().listen(3000)
          const [{ name, message }] = await new Promise((resolve) => server.on('error', (...given) => resolve(given)))
          return new Response(name + ' ' + message + ' ' + server.address())
        },
      }`)
    expect(await call(late)).toMatch(/^200 NotCapable listen EACCES: port 3000: .*has no server null$/)
  })

  it('is refused with what it failed with, or for the time that it may need', async () => {
    const connecting = 'const connect = async () => { throw new Error("no database") }'
    expect(
      await refusal(
        program(
          `${connecting}\nconst main = async () => { await connect(); http.createServer().listen(3000) }\nmain()`,
        ),
      ),
    ).toMatch(/did not load: no database/)
    expect(await refusal(program('setTimeout(() => { throw new Error("in a timer") }, 1)'))).toMatch(
      /did not load: in a timer/,
    )
    expect(await refusal(program('http.createServer()', { 'MCM.HEALTH_SEC': '2' }))).toMatch(
      /did not listen within 2 s \(MCM\.HEALTH_SEC\)/,
    )
    expect(await refusal(program('process.exit(3)'))).toMatch(/exit|ended|code 3/)
    expect(await refusal(program('http.createServer().listen(70000)'))).toMatch(/did not load: .*port/)
    expect(await refusal(program('http.createServer().listen(3000).listen(3001)'))).toMatch(
      /did not load: Listen method has been called more than once/,
    )
  })
})

describe('a hostile program', () => {
  it('listens a thousand times', async () => {
    const found = await program(`
      const errors = new Set()
      const answer = (_, response) => response.end('server of ' + JSON.stringify([...errors]))
      for (let at = 0; at < 1000; at++)
        http.createServer(answer).on('error', ({ name }) => errors.add(name)).listen(3000 + at)`)
    expect(await call(found)).toBe('200 server of ["NotCapable"]')
    const again = await program(`
      let server
      for (let at = 0; at < 1000; at++) {
        server?.close()
        const own = at
        server = http.createServer((_, response) => response.end(String(own))).listen(3000)
      }`)
    expect(await call(again)).toBe('200 999')
  })

  it('opens no port: only a server of node:http listens, and on no port of the system', async () => {
    const found = await program(`
      import https from 'node:https'
      import http2 from 'node:http2'
      const tryAll = async () => {
        const made = {
          net: () => net.createServer().listen(3000),
          'net on the loopback': () => net.createServer().listen(0, '127.0.0.1'),
          path: () => http.createServer().listen('/tmp/x'),
          https: () => https.createServer({}).listen(3000),
          http2: () => http2.createServer().listen(3000),
          descriptor: () => http.createServer().listen({ fd: 3 }),
        }
        const results = {}
        for (const [name, make] of Object.entries(made))
          results[name] = await new Promise((resolve) => {
            const uncaught = (event) => { event.preventDefault(); resolve(event.error?.name ?? event.reason?.name) }
            addEventListener('error', uncaught); addEventListener('unhandledrejection', uncaught)
            try { const server = make(); server.on('error', (e) => resolve(e.code + ' ' + e.name)); server.on('listening', () => resolve('listens')) } catch (e) { resolve(e.name) }
          })
        return results
      }
      const server = http.createServer(async (_, response) => response.end(JSON.stringify(await tryAll()))).listen(3000)`)
    const results = JSON.parse((await call(found)).slice(4)) as Record<string, string>
    for (const [name, result] of Object.entries(results))
      expect(result, name).toMatch(/NotCapable|EACCES|Error/)
    expect(results.net).toMatch(/NotCapable/)
  })

  it('breaks only itself if it replaces what its server uses', async () => {
    const bystander = await program(
      'http.createServer((_, response) => response.end("unharmed")).listen(3000)',
    )
    const found = await program(`
      http.createServer((_, response) => response.end('x')).listen(3000)
      http.Server.prototype.listen = http.createServer = http.request = process.getBuiltinModule = () => { throw new Error('mine') }
      Reflect.apply = WeakMap.prototype.get = () => { throw new Error('mine') }`)
    expect(await call(found)).toMatch(/^(200 x|50\d )/)
    expect(await call(bystander)).toBe('200 unharmed')
  })
})
