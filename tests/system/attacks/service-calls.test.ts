/**
 * Every method and every REST route, called from inside a service. What is expected comes from the declarations alone: a new method is
 * refused until it declares that services may call it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type FromServices, methods, rpcPath } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mcmRoutes } from '../../../apps/runtime/src/api/mcm/routes.ts'
import { nodesRoutes } from '../../../apps/runtime/src/api/rest/nodes-routes.ts'
import { functionImage, writeFile } from '../../harness/archives.ts'
import { type Program, startProgram } from '../../harness/processes.ts'
import { sampleOf } from '../../harness/samples.ts'
import { callUrl, type Services, startServices } from '../../harness/services.ts'

/** Where services of this API family look for the local API; the runtime of these tests listens at another port. */
const usual = 'http://localhost:8083'

/** Fetches the URL that its caller names, as careless services do. With `forward` it passes on the token of its caller. */
const relay = `export default { async fetch(request) {
  const { url, forward, file, ...init } = await request.json()
  if (forward) init.headers = { ...init.headers, Authorization: request.headers.get('Authorization') }
  if (file) {
    init.body = new FormData()
    init.body.set('image', new Blob([Uint8Array.fromBase64(file)]), 'sent.tar')
  }
  try {
    const answer = await fetch(url, init)
    return Response.json({ status: answer.status, text: await answer.text() })
  } catch (error) { return Response.json({ failed: error.message }) }
} }`

interface Asked {
  readonly url: string
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
  readonly forward?: boolean
  /** In base64. */
  readonly file?: string
}
interface Answered {
  readonly status: number
  readonly text: string
  readonly failed?: string
}

let services: Services
const settings = { plain: {}, token: { 'MCM.EDGE_ID_TOKEN': 'true' }, manager: { 'MCM.MANAGE': 'true' } }
type Name = keyof typeof settings
const names = Object.keys(settings) as Name[]
/** Base paths of the relays. */
const paths = {} as Record<Name | 'open', string>

beforeAll(async () => {
  services = await startServices()
  for (const name of names) {
    const env = { ...settings[name], 'MCM.FORWARD_TOKEN': 'true' }
    paths[name] = (await services.deploy(name, relay, env)).basePath
  }
  paths.open = (await services.deploy('open', relay, { 'MCM.ACCESS': 'public' })).basePath
})
afterAll(() => services?.stop())

/** Lets a relay ask. The public one is called without a token. */
async function ask(name: Name | 'open', asked: Asked): Promise<Answered> {
  const { status, text } = await services.call(paths[name], {
    method: 'POST',
    body: JSON.stringify(asked),
    ...(name === 'open' && { token: null }),
  })
  expect(status, text).toBe(200)
  return JSON.parse(text) as Answered
}

interface RpcAnswer {
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly data: { readonly reason: string; readonly hint: string } }
}

async function call(
  name: Name | 'open',
  method: string,
  params: unknown = [],
  origin = usual,
): Promise<RpcAnswer> {
  const { text } = await ask(name, {
    url: origin + rpcPath,
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return JSON.parse(text) as RpcAnswer
}
const reasonOf = (answer: RpcAnswer) => answer.error?.data.reason
const reasonOfHttp = ({ text, failed }: Answered): string =>
  failed ?? (JSON.parse(text) as { error: { reason: string } }).error.reason

/** A sealed list: nothing in it can be read. */
const base64 = expect.stringMatching(/^[A-Za-z0-9+/]+=*$/)
const sealed = { data: base64, iv: base64, tag: base64 }

/** Whether a service may call what declares this. */
const mayCall = (name: Name, declared: FromServices = 'no'): boolean =>
  declared === 'yes' || (settings[name] as Record<string, string>)[declared] === 'true'

describe.each(names)('a service with the settings "%s"', (name) => {
  it.each(Object.values(methods).map((method) => [method.name, method] as const))(
    'calls %s as it declares',
    async (_, method) => {
      const reason = reasonOf(await call(name, method.name, sampleOf(method.name, '')))
      if (!mayCall(name, (method as { fromServices?: FromServices }).fromServices))
        expect(reason).toBe('service_not_allowed')
      else if (method.access.caller === 'token') expect(reason).toBe('token_missing')
      else expect(reason).not.toBe('service_not_allowed')
    },
  )

  const tables = [mcmRoutes({} as never), nodesRoutes({} as never)]
  const routes = tables.flatMap(({ table }) => Object.entries(table))
  it.each(routes)('calls %s as its method declares', async (key, { as }) => {
    const [method = '', path = ''] = key.split(' ')
    // A scheme that carries no token: some routes answer callers without this header.
    const headers = { Authorization: 'Basic eA==' }
    const url = usual + path.replace('{id}', 'x')
    expect(reasonOfHttp(await ask(name, { url, method, headers }))).toBe(
      mayCall(name, as.fromServices) ? 'token_missing' : 'service_not_allowed',
    )
  })
})

describe('a service', () => {
  it.each(['http://localhost:8083', 'http://127.0.0.1:8083', 'http://LOCALHOST:8083', 'http://[::1]:8083'])(
    'reaches its device at %s, and at the address that it was given',
    async (usualOrigin) => {
      const { nodeId } = await services.runtime().getMe()
      for (const origin of [usualOrigin, services.url()])
        expect((await call('plain', 'getMe', [''], origin)).result).toMatchObject({ nodeId })
    },
  )

  it('reaches other services there', async () => {
    await services.deploy('hello', 'export default { fetch: () => new Response("hello") }')
    const url = `${usual}/${services.developer.clientId}/hello`
    expect(await ask('plain', { url, forward: true })).toEqual({ status: 200, text: 'hello' })
    expect(reasonOfHttp(await ask('plain', { url }))).toBe('token_missing')
  })

  it('does not learn where its device gets tokens from, as callers on other machines do not', async () => {
    const network = async (result: unknown) => JSON.stringify((result as { network: object }).network)
    expect(await network(await services.runtime().getMe())).toContain('"url"')
    expect(await network((await call('plain', 'getMe')).result)).not.toContain('"url"')
  })

  it('reads with the token of its caller what that allows', async () => {
    const edgeAccessToken = services.token
    const { result } = await call('plain', 'getContainers', { edgeAccessToken })
    expect((result as unknown as { name: string }[]).map(({ name }) => name)).toContain('plain')
    for (const path of ['/mcm/v1/containers', '/mcm/v1/images', '/mds/v1/nodes?clusters=account'])
      expect(await ask('plain', { url: usual + path, forward: true }), path).toMatchObject({ status: 200 })
    expect(reasonOf(await call('plain', 'getNodes', [edgeAccessToken, 'account']))).toBeUndefined()
  })

  it('gets an edge ID token with the setting for it', async () => {
    expect((await call('token', 'getEdgeIdToken')).result).toEqual({ id_token: expect.any(String) })
    const { error } = await call('plain', 'getEdgeIdToken')
    expect(error?.data.hint).toContain('"MCM.EDGE_ID_TOKEN": "true"')
  })

  it('is refused with the headers of a page, which it may have forwarded', async () => {
    for (const headers of [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { Origin: usual },
      { Referer: `${usual}/page` },
    ])
      for (const path of [rpcPath, '/mcm/v1/containers']) {
        const answer = await ask('plain', {
          url: usual + path,
          method: path === rpcPath ? 'POST' : 'GET',
          headers: { 'Content-Type': 'application/json', ...headers } as Record<string, string>,
          ...(path === rpcPath && { body: '{}' }),
          forward: true,
        })
        expect(answer.status, JSON.stringify(headers)).toBe(403)
      }
  })
})

describe('a forwarded token with edge:mcm', () => {
  const archive = functionImage('export default { fetch: () => new Response("planted") }', 'planted')
  const list = async (kind: 'Images' | 'Containers') =>
    (await services.runtime()[`get${kind}`]({ edgeAccessToken: services.token })).map(({ id }) => id)
  const upload = (path: string): Asked => ({
    url: usual + path,
    method: 'POST',
    forward: true,
    file: archive.toString('base64'),
  })
  const source = (value: string): Asked => ({
    url: `${usual}/mcm/v1/images`,
    method: 'POST',
    forward: true,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ source: value }),
  })

  it('does not let a service deploy or remove without MCM.MANAGE', async () => {
    const before = [await list('Images'), await list('Containers')]
    const [image = ''] = before[0]!
    const edgeAccessToken = services.token
    const container = `${services.developer.clientId}-plain`
    for (const path of ['/mcm/v1/images', '/mcm/v1/uploads'])
      expect(reasonOfHttp(await ask('plain', upload(path)))).toBe('service_not_allowed')
    const body = JSON.stringify({ name: 'planted', image, env: { 'MCM.MANAGE': 'true' } })
    const headers = { 'Content-Type': 'application/json' }
    for (const [method, path] of [
      ['POST', '/mcm/v1/containers'],
      ['POST', '/mcm/v1/mims'],
      ['DELETE', `/mcm/v1/containers/${container}`],
      ['POST', `/mcm/v1/containers/${container}/stop`],
      ['DELETE', `/mcm/v1/images/${image}`],
    ] as const) {
      const asked = { url: usual + path, method, forward: true, ...(path.endsWith('s') && { headers, body }) }
      expect(reasonOfHttp(await ask('plain', asked)), path).toBe('service_not_allowed')
    }
    for (const [method, params] of [
      ['deployImage', { edgeAccessToken, source: 'registry.example/app:1' }],
      ['deployContainer', { edgeAccessToken, spec: { name: 'planted', image, env: {} } }],
      ['removeContainer', { edgeAccessToken, id: container }],
      ['unassociateAccount', { edgeAccessToken, wipe: true }],
    ] as const)
      expect(reasonOf(await call('plain', method, params)), method).toBe('service_not_allowed')
    expect([await list('Images'), await list('Containers')]).toEqual(before)
  })

  it('is not a way around that in a batch', async () => {
    const spec = { name: 'planted', image: 'plain', env: {} }
    const { text } = await ask('plain', {
      url: usual + rpcPath,
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify([
        { jsonrpc: '2.0', id: 1, method: 'getMe' },
        { jsonrpc: '2.0', id: 2, method: 'deployContainer', params: [services.token, spec] },
        { jsonrpc: '2.0', method: 'deployContainer', params: [services.token, spec] },
      ]),
    })
    const answers = JSON.parse(text) as RpcAnswer[]
    expect(answers.map(reasonOf)).toEqual([undefined, 'service_not_allowed'])
    expect(await list('Containers')).not.toContain(`${services.developer.clientId}-planted`)
  })

  it('lets a service with MCM.MANAGE deploy what it sends, and no file of the device', async () => {
    const file = writeFile(`${services.stack.state}/archives`, 'on-the-device.tar', archive)
    const edgeAccessToken = services.token
    expect(reasonOfHttp(await ask('manager', source(file)))).toBe('service_not_allowed')
    expect(reasonOf(await call('manager', 'deployImage', { edgeAccessToken, source: file }))).toBe(
      'service_not_allowed',
    )
    expect(reasonOf(await call('manager', 'deployImage', { edgeAccessToken, source: '//etc/passwd' }))).toBe(
      'service_not_allowed',
    )
    for (const notAbsolute of [`file://${file}`, `..${file}`, `upload:..${file}`, ` ${file}`])
      expect(
        reasonOf(await call('manager', 'deployImage', { edgeAccessToken, source: notAbsolute })),
      ).toMatch(/invalid_params|not_found|registry_unavailable/)
    const sent = await ask('manager', upload('/mcm/v1/images'))
    expect(sent.status, sent.text).toBe(200)
    const { id: image } = JSON.parse(sent.text) as { id: string }
    const spec = { name: 'planted', image, env: {} }
    expect(reasonOf(await call('manager', 'deployContainer', { edgeAccessToken, spec }))).toBeUndefined()
    expect((await services.call(`/${services.developer.clientId}/planted`)).text).toBe('planted')
    const id = `${services.developer.clientId}-planted`
    expect((await call('manager', 'removeContainer', { edgeAccessToken, id })).result).toEqual({ id })
  })
})

describe('a public service that fetches URLs for its callers', () => {
  it('gives a caller without a token nothing that the caller does not get without it', async () => {
    const json = { 'Content-Type': 'application/json' }
    const identity = { method: 'POST', headers: json, body: '{"audience":"x"}' }
    for (const url of [
      `${usual}/runtime/v1/identity-token`,
      'http://localhost:8083//runtime/v1/identity-token',
    ])
      expect(reasonOfHttp(await ask('open', { url, ...identity }))).toBe('not_found')
    for (const path of ['/mcm/v1/containers', '/mcm/v1/images'])
      expect(reasonOfHttp(await ask('open', { url: usual + path })), path).toBe('token_missing')
    const { text: list } = await ask('open', { url: `${usual}/mds/v1/nodes?clusters=account` })
    expect(JSON.parse(list)).toEqual({ type: 'account', data: sealed })
    // Nor does it open one for its caller: only its own host program reaches that path.
    const opening = JSON.stringify({ sealed: JSON.parse(list).data, token: services.token })
    const open = { url: `${usual}/runtime/v1/open-nodes`, method: 'POST', headers: json, body: opening }
    expect(reasonOfHttp(await ask('open', open))).toBe('not_found')
    const { nodeId } = await services.runtime().getMe()
    for (const cluster of ['account', 'proximity', 'linkLocal']) {
      const { text } = await ask('open', { url: `${usual}/mds/v1/nodes?clusters=${cluster}` })
      expect(text, cluster).not.toContain(nodeId)
    }
    for (const method of ['getNodes', 'getGps', 'getContainers', 'getEdgeHmacCode'])
      expect(reasonOf(await call('open', method, sampleOf(method, ''))), method).toBe('token_missing')
    for (const method of ['getEdgeIdToken', 'getEngines', 'rpc.discover', 'deployImage'])
      expect(reasonOf(await call('open', method, sampleOf(method, ''))), method).toBe('service_not_allowed')
    const { clientId } = services.developer
    expect(reasonOfHttp(await ask('open', { url: `${usual}/${clientId}/plain` }))).toBe('token_missing')
    const { result } = await call('open', 'getMe')
    expect(JSON.stringify(result)).not.toContain(services.stack.identity.url)
  })

  it.each([
    '/',
    '/healthz',
    '/readyz',
    '/jsonrpc/v1/openrpc.json',
    '/jsonrpc/v1//',
    '//jsonrpc/v1',
    '/mcm/v1',
  ])('finds nothing at %s', async (path) => {
    expect(reasonOfHttp(await ask('open', { url: usual + path }))).toBe('not_found')
  })
})

describe('a redirect', () => {
  /** A server outside that redirects to what the query names. */
  async function outside(run: (origin: string) => Promise<void>): Promise<void> {
    const answer = ({ url = '' }: IncomingMessage, response: ServerResponse) =>
      response.writeHead(307, { Location: decodeURIComponent(url.split('?to=')[1] ?? '') }).end()
    const server = createServer(answer).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    server.closeAllConnections()
    server.close()
  }

  it('from outside leads to no path of the device', async () => {
    await outside(async (origin) => {
      const { host } = new URL(origin)
      const { basePath } = await services.deploy('led', relay, { 'MCM.OUTBOUND': host })
      const own = `/${services.developer.clientId}/open`
      const targets = [`${usual}/mds/v1/nodes`, usual + rpcPath, usual + own, services.url() + own]
      // Back to the outside, and from there to the device.
      const twice = `${origin}/?to=${encodeURIComponent(`${usual}/mds/v1/nodes`)}`
      for (const target of [...targets, twice]) {
        const asked: Asked = { url: `${origin}/?to=${encodeURIComponent(target)}`, method: 'GET' }
        const { text } = await services.call(basePath, { method: 'POST', body: JSON.stringify(asked) })
        expect((JSON.parse(text) as Answered).failed, target).toContain('a redirect may not lead to')
      }
    })
  })

  it('of another service leads to services, and not to the API', async () => {
    const source = `export default { fetch: (request) =>
      new Response(null, { status: 302, headers: { Location: new URL(request.url).searchParams.get('to') } }) }`
    const { basePath } = await services.deploy('leading', source, { 'MCM.ACCESS': 'public' })
    const led = (to: string, method = 'GET') =>
      ask('manager', { url: `${usual}${basePath}?to=${encodeURIComponent(to)}`, method, forward: true })
    const { clientId } = services.developer
    await services.deploy('end', 'export default { fetch: () => new Response("end") }')
    expect(await led(`/${clientId}/end`)).toEqual({ status: 200, text: 'end' })
    const container = `${clientId}-end`
    // The gateway leads it below the path of the service itself, which redirects again.
    for (const path of ['/mcm/v1/containers', `${usual}/mcm/v1/containers/${container}`])
      for (const method of ['GET', 'DELETE'])
        expect((await led(path, method)).failed, path).toContain('redirects more than 10 times')
    // Below the name of the client, which it leaves as it is.
    for (const method of ['GET', 'DELETE'])
      expect((await led(`/${clientId}/../mcm/v1/containers/${container}`, method)).failed).toContain(
        'a redirect may not lead to',
      )
    expect(await led(`/${clientId}/end`)).toMatchObject({ text: 'end' })
  })
})

describe('a service that calls its device without end', () => {
  const answered = async (times: number) => {
    for (let at = 0; at < times; at++) expect((await services.runtime().getMe()).nodeId).not.toBe('')
  }

  it('is refused when it calls itself within its own requests; others are answered', async () => {
    const { clientId } = services.developer
    const source = `export default { async fetch() {
      const answer = await fetch('${usual}/${clientId}/deep')
      if (answer.status === 503) return new Response('1')
      return new Response(String(Number(await answer.text()) + 1))
    } }`
    const { basePath } = await services.deploy('deep', source, { 'MCM.ACCESS': 'public' })
    const deep = services.call(basePath)
    await answered(50)
    expect((await deep).text).toBe('65')
  })

  it('is refused when each call makes two more of itself; others are answered', async () => {
    const { clientId } = services.developer
    const source = `export default { async fetch() {
      const again = () => fetch('${usual}/${clientId}/doubling').then((answer) => answer.text(), () => '')
      await Promise.all([again(), again()])
      return new Response('done')
    } }`
    const { basePath } = await services.deploy('doubling', source, { 'MCM.ACCESS': 'public' })
    const doubling = services.call(basePath)
    await answered(50)
    expect((await doubling).status).toBeGreaterThan(0)
    await answered(10)
  })

  it('is refused beyond its rate, in which each call of a batch counts; others are answered', async () => {
    const source = `export default { async fetch() {
      const body = JSON.stringify(Array.from({ length: 100 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'getMe' })))
      const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }
      const counts = { ok: 0, busy: 0 }
      for (let at = 0; at < 100; at++) {
        const answer = await fetch('${usual}${rpcPath}', init)
        if (answer.status === 503) break
        for (const { error } of await answer.json())
          if (error === undefined) counts.ok++
          else if (error.data?.reason === 'busy') counts.busy++
      }
      return Response.json(counts)
    } }`
    const { basePath } = await services.deploy('batches', source)
    const busy = services.call(basePath)
    await answered(50)
    const counts = JSON.parse((await busy).text) as { ok: number; busy: number }
    expect(counts.ok).toBeGreaterThan(0)
    expect(counts.busy).toBeGreaterThan(0)
  })
})

describe('a runtime with an API key', () => {
  let runtime: Program
  beforeAll(async () => {
    await services.stopRuntime()
    const state = services.stack.state
    const env = {
      SELVEDGE_STATE: state,
      SELVEDGE_RUNTIME_PORT: new URL(services.url()).port,
      SELVEDGE_IDENTITY_URL: services.stack.identity.url,
      SELVEDGE_DISCOVERY_URL: services.stack.discovery.url,
    }
    runtime = await startProgram('runtime', env, ['--apiKey=true'])
  })
  afterAll(() => runtime.stop())

  it('needs no key from services', async () => {
    const { status, text } = await callUrl(services.url() + rpcPath, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getEngines' }),
    })
    expect({ status, reason: reasonOf(JSON.parse(text)) }).toEqual({ status: 200, reason: 'api_key_invalid' })
    expect((await call('token', 'getEdgeIdToken')).result).toHaveProperty('id_token')
    expect(reasonOf(await call('plain', 'getNodes', [services.token, 'account']))).toBeUndefined()
  })
})
