/**
 * A service as they are made for this API family: bundled by webpack with `router`, `debug` and the helper package, packed with the
 * family's packager and with ours, deployed with the family's own curl lines. Every route of it is called.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCli } from '../../harness/cli.ts'
import { accessToken } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'

const tools = join(root, 'tests/system/services/image-tools')

describe('a service of this API family', needs('image tools', 'curl'), () => {
  let services: Services
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  beforeAll(async () => {
    folder = await temporaryFolder()
    execFileSync(process.execPath, [join(tools, 'build.cjs'), join(folder.path, 'build')])
    services = await startServices()
  })
  afterAll(async () => {
    await services.stop()
    await folder.remove()
  })

  /** @returns the path of an archive that the family's packager made */
  function packWithTheirs(): string {
    const at = join(folder.path, 'theirs')
    mkdirSync(join(at, 'config'), { recursive: true })
    writeFileSync(join(at, 'package.json'), '{ "name": "fixture", "version": "1.2.0" }')
    writeFileSync(
      join(at, 'config/default.yml'),
      'package:\n  imageName: theirs\n  imageIndexFilePath: ../build/index.js\n  outputFolder: ./deploy\n',
    )
    const packager = join(tools, 'node_modules/@mimik/edge-ms-packager/index.js')
    execFileSync(process.execPath, ['--require', join(tools, 'old-node.cjs'), packager], {
      cwd: at,
      stdio: 'ignore',
    })
    return join(at, 'deploy', readdirSync(join(at, 'deploy')).find((name) => name.endsWith('.tar'))!)
  }

  async function packWithOurs(): Promise<string> {
    const file = join(folder.path, 'ours.tar')
    const build = join(folder.path, 'build')
    const { code, errors } = await runCli(['image', 'pack', build, '--name', 'ours-v1', '-o', file], {
      PATH: process.env.PATH ?? '',
    })
    expect(errors + code).toBe('0')
    return file
  }

  function curl(path: string, ...args: string[]) {
    const bearer = ['-H', `Authorization: bearer ${services.token}`]
    const text = execFileSync('curl', ['-s', '-X', 'POST', services.url() + path, ...bearer, ...args])
    return JSON.parse(text.toString())
  }

  const settingsOf = (image: string) => ({
    'MCM.BASE_API_PATH': `/${image}/v1`,
    'MCM.WEBSOCKET_SUPPORT': 'true',
    'MCM.FORWARD_TOKEN': 'true',
    uMDS: 'http://127.0.0.1:8083/mds/v1',
  })

  /** Deploys an archive. @returns the container as the API shows it */
  function deploy(archive: string, image: string) {
    expect(curl('/mcm/v1/images', '-F', `image=@${archive}`)).toMatchObject({ name: image })
    const spec = JSON.stringify({ name: image, image, env: settingsOf(image) })
    return curl('/mcm/v1/containers', '-H', 'Content-Type: application/json', '-d', spec)
  }

  describe.each([
    ['the packager of the family', 'theirs-v1', packWithTheirs],
    ['the packager of this project', 'ours-v1', packWithOurs],
  ])('packed with %s', (_, image, pack) => {
    let base: string
    beforeAll(async () => {
      const deployed = deploy(await pack(), image)
      expect(deployed).toMatchObject({ state: 'running', name: image })
      base = deployed.basePath
    })
    const call = async (path: string, method = 'GET', body?: string | Buffer, headers = {}) => {
      const answer = await services.call(base + path, {
        method,
        headers,
        ...(body !== undefined && { body }),
      })
      return { ...answer, json: answer.text.startsWith('{') ? JSON.parse(answer.text) : undefined }
    }
    const get = async (path: string) => (await call(path)).json
    const ask = async (request: object) => (await call('/ask', 'POST', JSON.stringify(request))).json

    it('loads, and finds the global names that it expects, and the environment of its container', async () => {
      expect(await get('/hello')).toEqual({
        hello: 'world',
        env: {
          ...settingsOf(image),
          'MCM.BASE_API_PATH': base,
          'MCM.RUNTIME': 'js',
        },
        isGlobal: true,
        timers: ['function', 'function', 'function'],
        encoded: 'aGVsbG8=',
        decoded: 'hello',
        jx: '{a:undefined}',
        jc: '{"a":{"_undef":true}}',
      })
      expect(await get('/unknown')).toEqual({ code: 404, message: 'not found' })
    })

    it('lists the nodes of the account and nearby with the token of its caller', async () => {
      const { nodeId, accountId } = await services.runtime().getMe()
      await services.runtime().updateGps({
        edgeAccessToken: services.token,
        longitude: '13.4',
        latitude: '52.5',
        speed: '0',
        bearing: '0',
      })
      const id = `${services.developer.clientId}-${image}`
      // The discovery service learns of a new service a little later.
      await expect
        .poll(() => get('/nodes/account'))
        .toMatchObject({
          accountId,
          nodes: [
            {
              id: nodeId,
              account: { id: accountId },
              location: { latitude: 52.5, longitude: 13.4 },
              services: expect.arrayContaining([
                { id, serviceType: id, self: base, tenant: { id: services.developer.clientId } },
              ]),
            },
          ],
        })
      expect(await get('/nodes/proximity')).toMatchObject({ proximity: { nodes: expect.any(Array) } })
      // A test does not listen on the local network.
      expect(await get('/nodes/linkLocal')).toEqual({ code: 502, message: 'Not Found' })
      expect(await get('/nodes/galaxy')).toEqual({ code: 502, message: 'unknown cluster type' })
    })

    it('is refused the nodes with a token that getNodes refuses, with its reason', async () => {
      const scope = 'openid edge:mcm'
      const token = await accessToken(services.stack, services.developer, scope)
      const answer = await services.call(`${base}/nodes/account`, { token })
      expect(JSON.parse(answer.text)).toMatchObject({
        code: 502,
        message: expect.stringContaining('needs the scope edge:clusters'),
      })
    })

    it('gets the identity of its device, and an HMAC code', async () => {
      const { nodeId, accountId } = await services.runtime().getMe()
      expect(await get('/me')).toMatchObject({ nodeId, accountId })
      expect(await get(`/code/${nodeId}`)).toEqual({ code: expect.stringMatching(/.{20,}/) })
      expect(await get('/bep')).toEqual({ code: 502, message: expect.stringContaining('has no relay') })
    })

    it('stores items with tags', async () => {
      await call('/items/red/a', 'PUT', '1')
      await call('/items/red/b', 'PUT', '2')
      await call('/items/blue/c', 'PUT', '3')
      expect(await get('/items/red')).toEqual({ a: '1', b: '2' })
      expect(await get('/items')).toEqual({ data: ['a', 'b'] })
      expect((await call('/items/a/blue', 'POST')).json).toEqual({ updated: true })
      expect((await call('/items/nothing/blue', 'POST')).json).toEqual({ updated: false })
      await services.restart('SIGKILL')
      expect(await get('/items/blue')).toEqual({ a: '1', c: '3' })
      expect((await call('/items/blue', 'DELETE')).json).toEqual({ deleted: 2 })
      expect(await get('/items')).toEqual({ data: ['b'] })
    })

    it('receives forms, stores their files and answers with them', async () => {
      const form = new FormData()
      form.append('metadata', '{"name":"ü"}')
      form.append('skipped', 'x')
      const bytes = Buffer.from(Array.from({ length: 1000 }, (_, at) => at % 256))
      form.append('file', new Blob([bytes]), 'picture.png')
      const { headers, body } = new Request('http://localhost/', { method: 'POST', body: form })
      const sent = Buffer.from(await new Response(body).arrayBuffer())
      const type = { 'Content-Type': headers.get('content-type')! }
      expect((await call('/files', 'POST', sent, type)).json).toEqual({
        metadata: '{"name":"ü"}',
        'picture.png': 1000,
      })
      const answer = await fetch(`${services.url()}${base}/files/picture.png`, {
        headers: { Authorization: `Bearer ${services.token}` },
      })
      expect(answer.headers.get('content-type')).toBe('image/png')
      expect(Buffer.from(await answer.arrayBuffer())).toEqual(bytes)
      expect((await call('/files/picture.png', 'DELETE')).json).toEqual({ deleted: true })
      expect((await call('/files/picture.png')).status).toBe(404)
      const encoded = { 'Content-Type': 'application/x-www-form-urlencoded' }
      expect((await call('/files', 'POST', 'metadata=a%20b&other=c', encoded)).json).toEqual({
        metadata: 'a b',
      })
      expect((await call('/files', 'POST', 'no form')).json).toMatchObject({ code: 400 })
    })

    it('sends requests, and calls one callback once, also if that throws', async () => {
      const hello = { url: `${base}/hello`, authorization: `Bearer ${services.token}\r\nx-injected: 1` }
      expect(await ask({ ...hello, throws: true })).toMatchObject({ calls: 1, status: 200 })
      expect(await ask({ url: `${base}/hello` })).toMatchObject({ calls: 1, failed: 401 })
      expect(await ask({ url: 'http://outside.example/' })).toMatchObject({
        calls: 1,
        failed: 0,
        message: expect.stringContaining('MCM.OUTBOUND'),
      })
      expect(await ask({ url: 'nonsense:' })).toMatchObject({ calls: 1, failed: 0 })
    })

    it('answers with a head of its own', async () => {
      const { status, headers } = await call('/moved')
      expect({ status, location: headers.location, cookies: headers['set-cookie'] }).toEqual({
        status: 302,
        location: `${base}/hello`,
        cookies: ['a=1', 'b=2'],
      })
    })

    it('sends events to the clients of its WebSocket, and to no client without a token', async () => {
      const url = `${services.url().replace('http', 'ws')}/ws${base}`
      const open = (headers: Record<string, string>) => {
        const socket = new WebSocket(url, { headers } as never)
        const messages: string[] = []
        socket.addEventListener('message', ({ data }) => void messages.push(String(data)))
        const opened = new Promise<boolean>((resolve) => {
          socket.addEventListener('open', () => resolve(true))
          socket.addEventListener('error', () => resolve(false))
        })
        return { socket, messages, opened }
      }
      const token = { Authorization: `Bearer ${services.token}` }
      const clients = [open(token), open(token)]
      expect(await Promise.all(clients.map(({ opened }) => opened))).toEqual([true, true])
      expect(await open({}).opened).toBe(false)
      expect((await call('/events', 'POST', 'first')).status).toBe(202)
      await call('/events', 'POST', 'second')
      const events = ['first', 'second'].map((message) => JSON.stringify({ type: 'news', message }))
      for (const { messages, socket } of clients) {
        await expect.poll(() => messages).toEqual(events)
        socket.close()
      }
    })
  })
})
