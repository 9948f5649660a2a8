/** What functions are given: the two conventions of JavaScript, WASM, storage, the way out, and an identity. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { builtinModules } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildElsewhere } from '../../harness/elsewhere.ts'
import { root } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'

describe.each([
  ['of the runtime', false],
  ['of the runtime as it is built for macOS', true],
])('functions %s', (_system, isElsewhere) => {
  let services: Services
  let place: Awaited<ReturnType<typeof buildElsewhere>> | undefined
  beforeAll(async () => {
    if (isElsewhere) place = await buildElsewhere()
    services = await startServices({ ...(place && { place }) })
  })
  afterAll(async () => {
    await services.stop()
    await place?.remove()
  })
  const json = async (path: string, init = {}) => JSON.parse((await services.call(path, init)).text)
  const historyOf = async (id: string) =>
    (await services.runtime().getContainerHistory({ edgeAccessToken: services.token, id })).history

  describe('a handler', () => {
    it('gets context, request and response as the API family writes them', async () => {
      const { id, basePath } = await services.deploy(
        'handler',
        `var seen = 0
      mimikModule.exports = function (context, request, response) {
        seen = seen + 1
        response.statusCode = 201
        response.setHeader('X-Seen', seen)
        response.write('{"request":')
        response.write(JSON.stringify(request))
        response.end(',"env":' + JSON.stringify(context.env) + ',"info":' + JSON.stringify(context.info) + '}')
      }`,
        { 'MCM.BASE_API_PATH': '/handler/v1', 'MCM.FORWARD_TOKEN': 'true', ownerCode: '1234' },
      )
      const answer = await services.call(`${basePath}/a/b?c=d`, {
        method: 'POST',
        body: '{"x":1}',
        headers: { 'Content-Type': 'application/json' },
      })
      const { request, env, info } = JSON.parse(answer.text)
      expect({ status: answer.status, seen: answer.headers['x-seen'] }).toEqual({ status: 201, seen: '1' })
      expect(request).toMatchObject({
        url: '/a/b?c=d',
        method: 'POST',
        body: '{"x":1}',
        authorization: `Bearer ${services.token}`,
        headers: { 'content-type': 'application/json' },
      })
      expect(env).toEqual({
        ownerCode: '1234',
        'MCM.BASE_API_PATH': basePath,
        'MCM.FORWARD_TOKEN': 'true',
        'MCM.RUNTIME': 'js',
      })
      expect(info).toEqual({
        serviceType: id,
        nodeId: (await services.runtime().getMe()).nodeId,
        httpPort: Number(new URL(services.url()).port),
        apiRoot: services.url(),
      })
    })

    it.each([
      ['throws', 'mimikModule.exports = () => { throw new Error("secret inside") }'],
      ['rejects', 'mimikModule.exports = async () => { throw new Error("secret inside") }'],
      ['sends a status that is none', 'mimikModule.exports = (c, r, s) => { s.statusCode = 42; s.end("x") }'],
    ])('that %s is answered for, without its inside', async (_, source) => {
      const { id, basePath } = await services.deploy('thrower', source)
      const { status, text } = await services.call(basePath)
      expect({ status, reason: JSON.parse(text).error.reason }).toEqual({
        status: 500,
        reason: 'service_failed',
      })
      expect(text).not.toContain('secret')
      const { lines } = await services
        .runtime()
        .getContainerLogs({ edgeAccessToken: services.token, id, tail: 50 })
      expect(lines.length).toBeGreaterThan(0)
    })

    it.each<[string, string, RegExp, Record<string, string>?]>([
      ['sets no handler', 'var x = 1', /sets no handler/],
      ['exports no worker', 'export const x = 1', /exports no worker/],
      ['does not parse', 'export default {{{', /did not load/],
      ['throws when it is loaded', 'throw new Error("no")', /no/],
      [
        'never finishes loading',
        'export default await new Promise(() => {})',
        /did not listen within 1 s/,
        { 'MCM.HEALTH_SEC': '1' },
      ],
    ])('that %s is refused, and nothing is kept', async (_, source, message, env) => {
      await expect(services.deploy('bad', source, env)).rejects.toMatchObject({
        reason: 'container_failed',
        message: expect.stringMatching(message),
      })
      const containers = await services.runtime().getContainers({ edgeAccessToken: services.token })
      expect(containers.map(({ name }) => name)).not.toContain('bad')
      expect((await historyOf(`${services.developer.clientId}-bad`)).at(-1)).toMatchObject({
        event: 'deployment failed',
      })
    })
  })

  describe('modules of Node.js', () => {
    // That of single executables is the only one that the platform does not have.
    const names = builtinModules.filter((name) => !name.startsWith('_') && name !== 'node:sea')
    const report = `(await Promise.all(names.map((name) => import('node:' + name.replace(/^node:/, '')).then(() => undefined, () => name)))).filter(Boolean)`

    it('all load in a module worker, and those that need nothing of the device work', async () => {
      const { basePath } = await services.deploy(
        'node-worker',
        `import { Buffer as Own } from 'node:buffer'; import { createHash } from 'node:crypto'; import { EventEmitter, once } from 'node:events'
      import { join } from 'node:path'; import { Readable } from 'node:stream'; import { format } from 'node:util'; import { gunzipSync, gzipSync } from 'node:zlib'
      const names = ${JSON.stringify(names)}
      export default { async fetch() {
        const emitter = new EventEmitter(); setTimeout(() => emitter.emit('x', 1), 1)
        let refused; try { process.getBuiltinModule('node:fs').readFileSync('/etc/passwd') } catch (cause) { refused = cause.code }
        return Response.json({ absent: ${report}, hash: createHash('sha256').update('a').digest('hex').slice(0, 8), once: await once(emitter, 'x'),
          path: join('/a', '../b'), read: await Readable.from(['a', 'b']).toArray(), text: format('%s-%d', 'a', 1), zlib: gunzipSync(gzipSync('z')).toString(),
          same: Own === Buffer, env: process.env.OWN, cwd: process.cwd(), refused })
      } }`,
        { OWN: 'value' },
      )
      expect(await json(basePath)).toEqual({
        absent: [],
        hash: 'ca978112',
        once: [1],
        path: '/b',
        read: ['a', 'b'],
        text: 'a-1',
        zlib: 'z',
        same: true,
        env: 'value',
        cwd: '/',
        refused: 'ENOENT',
      })
    })

    it('are there for a handler as well', async () => {
      const { basePath } = await services.deploy(
        'node-handler',
        `const util = process.getBuiltinModule('node:util')
      mimikModule.exports = (context, request, response) => response.end(JSON.stringify({
        text: util.format('%s', Buffer.from('61', 'hex').toString()), env: process.env.OWN, same: process.env.OWN === context.env.OWN }))`,
        { OWN: 'value' },
      )
      expect(await json(basePath)).toEqual({ text: 'a', env: 'value', same: true })
    })
  })

  describe('caches', () => {
    it('keep responses from one request to the next, in the memory of the instance', async () => {
      const source = `export default {
      async fetch(request) {
        const named = await caches.open('named')
        const found = (await caches.default.match(request)) ?? (await named.match('https://example.com/a'))
        if (found) return new Response(await found.text(), { headers: { 'X-Found': found.headers.get('x-made') } })
        const made = new Response('made once', { headers: { 'X-Made': 'yes' } })
        await (request.url.includes('named') ? named.put('https://example.com/a', made) : caches.default.put(request, made))
        return new Response('first')
      }
    }`
      const { basePath } = await services.deploy('caching', source)
      for (const path of [basePath, `${basePath}/named`]) {
        expect((await services.call(path)).text).toBe('first')
        const { text, headers } = await services.call(path)
        expect([text, headers['x-found']]).toEqual(['made once', 'yes'])
      }
    })
  })

  describe('storage', () => {
    const source = `mimikModule.exports = (context, request, response) => {
    const { storage } = context
    const [, verb, key, value] = request.url.split('/')
    if (verb === 'set') storage.setItem(key, value)
    if (verb === 'remove') storage.removeItem(key)
    if (verb === 'many') for (let i = 0; i < 1000; i++) storage.setItem('k' + i, 'v' + i)
    const all = {}
    storage.eachItem((k, v) => { all[k] = v })
    response.end(JSON.stringify({ value: storage.getItem(key || ''), all: verb === 'many' ? Object.keys(all).length : all }))
  }`

    it('survives redeploys, restarts and a killed runtime, and goes with the container', async () => {
      const { id, basePath } = await services.deploy('kept', source)
      await json(`${basePath}/set/a/1`)
      await json(`${basePath}/set/b/2`)
      await json(`${basePath}/remove/b`)
      await services.deploy('kept', source)
      expect((await json(`${basePath}/get/a`)).all).toEqual({ a: '1' })
      await json(`${basePath}/set/c/3`)
      await services.restart('SIGKILL')
      expect((await json(`${basePath}/get/a`)).all).toEqual({ a: '1', c: '3' })
      expect((await json(`${basePath}/many`)).all).toBe(1002)
      await services.runtime().removeContainer({ edgeAccessToken: services.token, id })
      await services.deploy('kept', source)
      expect((await json(`${basePath}/get/a`)).all).toEqual({})
    })

    it('is of one container only', async () => {
      const first = await services.deploy('mine', source)
      const second = await services.deploy('yours', source)
      await json(`${first.basePath}/set/a/secret`)
      expect((await json(`${second.basePath}/get/a`)).value).toBeNull()
    })

    // Only the runtime's own part: it is the same in one that is built for another system.
    it.skipIf(isElsewhere)('nothing that was answered is lost when the process is killed', async () => {
      const { basePath } = await services.deploy('durable', source)
      for (let at = 0; at < 10; at++) {
        await json(`${basePath}/set/n/${at}`)
        await services.restart('SIGKILL')
        expect((await json(`${basePath}/get/n`)).value).toBe(String(at))
      }
    })
  })

  describe('a WASM function', () => {
    it('answers as CGI', async () => {
      const wasm = readFileSync(join(root, 'apps/cli/templates/wasm/index.wasm'))
      const { basePath } = await services.deploy('wasm', wasm, { NAME: 'value' }, 'index.wasm')
      const { status, headers, text } = await services.call(`${basePath}/a%20b?x=1`, {
        headers: { 'X-Own': 'y', Proxy: 'evil' },
      })
      expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'text/plain' })
      expect(text).toContain('hello from wasm')
      for (const line of [
        'REQUEST_METHOD=GET',
        'PATH_INFO=/a b',
        'QUERY_STRING=x=1',
        `SCRIPT_NAME=${basePath}`,
        'HTTP_X_OWN=y',
        'NAME=value',
        'MCM.RUNTIME=wasm',
      ])
        expect(text).toContain(line)
      expect(text).not.toContain('HTTP_PROXY')
    })

    it('that is none is refused', async () => {
      await expect(services.deploy('nowasm', 'hello', {}, 'index.wasm')).rejects.toMatchObject({
        reason: 'container_failed',
      })
    })
  })

  describe('the way out', () => {
    it('leads to the hosts that are listed, streaming, redirects included; and nowhere else', async () => {
      const server = createServer((request, response) => {
        if (request.url === '/redirect') return response.writeHead(302, { Location: '/end' }).end()
        if (request.url === '/away') return response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end()
        let body = ''
        request.on('data', (chunk) => {
          body += chunk
        })
        request.on('end', () =>
          response.end(
            JSON.stringify({
              url: request.url,
              method: request.method,
              host: request.headers.host,
              own: request.headers['x-own'],
              target: request.headers['x-selvedge-target'],
              body,
            }),
          ),
        )
      }).listen(0, '127.0.0.1')
      const host = await new Promise<string>((resolve) =>
        server.on('listening', () => resolve(`127.0.0.1:${(server.address() as AddressInfo).port}`)),
      )
      const { basePath } = await services.deploy(
        'out',
        `export default { async fetch(request) {
        const { url, ...init } = await request.json()
        try { const r = await fetch(url, init); return new Response(await r.text(), { status: r.status }) }
        catch (e) { return new Response(e.message, { status: 599 }) }
      } }`,
        { 'MCM.OUTBOUND': host },
      )
      const out = (url: string, init = {}) =>
        services.call(basePath, { method: 'POST', body: JSON.stringify({ url, ...init }) })
      expect(
        JSON.parse(
          (await out(`http://${host}/x?y`, { method: 'PUT', body: 'hello', headers: { 'X-Own': 'z' } })).text,
        ),
      ).toEqual({ url: '/x?y', method: 'PUT', host, own: 'z', body: 'hello' })
      expect(JSON.parse((await out(`http://${host}/redirect`)).text)).toMatchObject({ url: '/end' })
      expect(await out(`http://${host}/away`)).toMatchObject({
        status: 599,
        text: expect.stringContaining('not listed in MCM.OUTBOUND'),
      })
      expect(await out('http://127.0.0.1:1/')).toMatchObject({
        status: 599,
        text: expect.stringContaining('deploy the container with "MCM.OUTBOUND"'),
      })

      const handler = await services.deploy(
        'callback',
        `mimikModule.exports = (context, request, response) => context.http.request({
        type: 'POST', url: ${JSON.stringify(`http://${host}/cb`)}, data: { a: 1 },
        success: (result) => response.end(JSON.stringify(result)), error: (error) => response.end(JSON.stringify({ error })) })`,
        { 'MCM.OUTBOUND': host },
      )
      const { data, status } = await json(handler.basePath)
      expect({ status, body: JSON.parse(data).body }).toEqual({ status: 200, body: '{"a":1}' })
      server.close()
      expect((await json(handler.basePath)).error).toMatchObject({ status: 0 })
    })
  })

  describe('another service', () => {
    it('gets an identity token for one other service', async () => {
      const back = await services.deploy('back', readFileSync(join(root, 'examples/pair/back/index.js')))
      const front = await services.deploy('front', readFileSync(join(root, 'examples/pair/front/index.js')), {
        BACK_ID: back.id,
        BACK_PATH: back.basePath,
      })
      expect(await json(front.basePath)).toEqual({
        status: 200,
        back: { hello: front.id, client: services.developer.clientId, tokenSeen: false },
      })
      expect(JSON.stringify(front.env)).not.toMatch(/eyJ/)
    })
  })

  describe('an idle function', () => {
    it('is paused, and started by the next requests, of which none is lost', async () => {
      const { id, basePath } = await services.deploy(
        'idle',
        'export default { fetch: () => new Response(String(performance.timeOrigin)) }',
        { 'MCM.IDLE_SEC': '5' },
      )
      const stateOf = async () =>
        (await services.runtime().getContainers({ edgeAccessToken: services.token })).find(
          (each) => each.id === id,
        )?.state
      expect(await stateOf()).toBe('running')
      await expect.poll(stateOf).toBe('paused')
      const answers: Awaited<ReturnType<typeof services.call>>[] = []
      // At most 32 at a time are served however late the runtime is: of more, a busy one refuses some with HTTP 503.
      for (const length of [30, 20])
        answers.push(...(await Promise.all(Array.from({ length }, () => services.call(basePath)))))
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
      expect(await stateOf()).toBe('running')
    })
  })
})
