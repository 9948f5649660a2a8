/** The runtime over HTTP/2, on the loopback and on its socket: each check holds as it does over HTTP/1.1. */
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from 'node:http2'
import { connect as connectSocket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { request2 } from '../harness/http2-server.ts'
import { type Services, startServices } from '../harness/services.ts'

let services: Services
let path = ''
const sessions: Record<string, ClientHttp2Session> = {}
beforeAll(async () => {
  services = await startServices()
  const source = `export default { fetch: async (request) =>
    new Response(new URL(request.url).pathname + ' ' + request.headers.get('x-selvedge-account') + ' ' +
      request.headers.get('selvedge-service') + ' ' + (await request.text()).length) }`
  path = (await services.deploy('echo', source)).basePath
  const socket = join(services.stack.state, 'runtime.sock')
  sessions.loopback = connect(services.url())
  sessions.socket = connect('http://localhost', { createConnection: () => connectSocket(socket) })
})
afterAll(async () => {
  for (const session of Object.values(sessions)) session.destroy()
  await services?.stop()
})

describe.each(['loopback', 'socket'])('over HTTP/2 on the %s', (listener) => {
  const ask = (headers: OutgoingHttpHeaders, ...body: string[]) =>
    request2(sessions[listener]!, { ':method': body.length > 0 ? 'POST' : 'GET', ...headers }, ...body)
  const bearer = () => ({ authorization: `Bearer ${services.token}` })

  it('methods are called', async () => {
    const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getMe' })
    const answer = await ask({ ':path': '/jsonrpc/v1', 'content-type': 'application/json' }, call)
    expect(JSON.parse(answer.body)).toMatchObject({ id: 1, result: { nodeId: expect.any(String) } })
  })

  it('a service is reached by its path, and by its name in a header', async () => {
    const { accountId } = services.developer
    const large = 'x'.repeat(300_000)
    expect((await ask({ ':path': `${path}/a`, ...bearer() }, large)).body).toBe(`/a ${accountId} null 300000`)
    expect((await ask({ ':path': '/a.B/C', 'selvedge-service': path, ...bearer() })).body).toBe(
      `/a.B/C ${accountId} null 0`,
    )
  })

  it('many requests are answered at a time', async () => {
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, at) => ask({ ':path': `${path}/${at}`, ...bearer() })),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(60).fill(200))
  })

  it.each<[string, () => OutgoingHttpHeaders, number]>([
    ['without a token', () => ({ ':path': path }), 401],
    [
      'without a token, by the name of the service',
      () => ({ ':path': '/a.B/C', 'selvedge-service': path }),
      401,
    ],
    [
      'with a wrong token',
      () => ({ ':path': '/a.B/C', 'selvedge-service': path, authorization: 'Bearer x' }),
      401,
    ],
    [
      'for a service that is not there',
      () => ({ ':path': '/a.B/C', 'selvedge-service': '/x', ...bearer() }),
      404,
    ],
    ['for another host', () => ({ ':path': path, ':authority': 'foreign.example', ...bearer() }), 403],
    [
      'of a page of another origin',
      () => ({ ':path': path, origin: 'https://foreign.example', ...bearer() }),
      403,
    ],
    ['with a header that names a caller', () => ({ ':path': path, 'x-selvedge-account': 'other' }), 401],
  ])('a request %s is refused', async (_, headers, status) => {
    const answer = await ask(headers())
    expect(answer.status).toBe(status)
    expect(JSON.parse(answer.body).error.message).toEqual(expect.any(String))
  })
})
