/**
 * Every path of the three daemons, with bodies, forms and queries that no client sends: absent, empty, of another type, with repeated and
 * odd fields. Each is answered, and the log of the daemon has no error.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { discoveryPaths, identityPaths, mcmPaths, rpcPath } from '@selvedge/protocol'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Services, startServices } from '../harness/services.ts'

let services: Services
beforeAll(async () => {
  const limit = '--limits.address=100000'
  services = await startServices({ identity: [limit], discovery: [limit] })
})
afterAll(() => services?.stop())

const form = 'application/x-www-form-urlencoded'
const json = 'application/json'
type Odd = readonly [type: string | undefined, body: string | undefined]
const bodies: readonly Odd[] = [
  [undefined, undefined],
  [undefined, ''],
  [undefined, 'token=a'],
  [form, undefined],
  [form, ''],
  [form, 'token=a&token=b'],
  [form, 'client_id=a&client_id=b&grant_type=&__proto__=x&constructor=y'],
  [form, '%zz=%E4&token'],
  [form, 'token[]=a&token[b]=c&client_id=%00&grant_type=urn%3Aietf&scope=%F0%9F%92%A9'],
  [json, undefined],
  [json, ''],
  [json, 'null'],
  [json, '[]'],
  [json, '{"__proto__":{"a":1},"nodes":null,"method":{}}'],
  [json, '{"jsonrpc":"2.0","id":{},"method":"toString","params":7}'],
  ['text/plain', 'token=a'],
  ['multipart/form-data', 'token=a'],
]
const queries = [
  '',
  '?',
  '?a&a&since=1&since=2&nodes=&nodes=a&tail=x',
  '?%zz=%E4&__proto__=x&cluster=NaN&from=-1&mark=',
]
/** Those that paths serve, and those that most of them refuse. */
const methods = [
  ['GET', 'served'],
  ['POST', 'served'],
  ['DELETE', 'refused'],
  ['PUT', 'refused'],
  ['OPTIONS', 'refused'],
] as const
/** Headers of a caller without a credential, and with invalid ones. */
const credentials: readonly Record<string, string>[] = [
  {},
  { Authorization: 'Basic Og==' },
  { Authorization: 'DPoP a.b.c', DPoP: 'a.b.c', Cookie: '__Host-selvedge=x; x' },
]

/** Resolves with the status, when the head of the answer is there. */
function send(
  url: string,
  method: string,
  [type, body]: Odd,
  headers: Record<string, string>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, {
      method,
      agent: false,
      headers: { ...headers, ...(type !== undefined && { 'Content-Type': type }) },
    })
    request.on('response', (response: IncomingMessage) => {
      resolve(response.statusCode!)
      response.resume()
      // A stream of events has no end.
      if (String(response.headers['content-type']).startsWith('text/event-stream')) response.destroy()
    })
    // A refusal that comes before the body has been read may end the connection.
    request.on('error', (cause: NodeJS.ErrnoException) =>
      cause.code === 'ECONNRESET' ? resolve(0) : reject(cause),
    )
    request.end(body)
  })
}

/** Sends every request to every path. @returns those that the daemon failed to answer */
async function attack(url: string, paths: readonly string[], others: readonly Record<string, string>[] = []) {
  const failed: string[] = []
  const all = [...credentials, ...others]
  const attempt = async (path: string, method: string, at: number, headers: Record<string, string>) => {
    const odd = bodies[at]!
    const target = `${path}${queries[at % queries.length]}`
    const status = await send(url + target, method, odd, headers)
    if (status === 500) failed.push(`${method} ${target} ${odd.join(' ')}`)
  }
  for (const path of paths)
    for (const [method, usually] of methods) {
      // GET and POST: every body with every credential. The other methods: every body with one credential.
      const sets =
        usually === 'served' ? all.map((headers) => () => headers) : [(at: number) => all[at % all.length]!]
      for (const headersOf of sets)
        await Promise.all(bodies.map((_, at) => attempt(path, method, at, headersOf(at))))
    }
  return failed
}

const errorsIn = (log: string) =>
  log.split('\n').filter((line) => line.includes('"level":"error"') || line.includes('TypeError'))
const filled = (paths: object) =>
  Object.values(paths).map((path: string | ((of: string) => string)) =>
    typeof path === 'string' ? path : path('x'),
  )

it('the identity service answers all of them, and logs no error', async () => {
  const { identity } = services.stack
  const paths = [
    ...filled(identityPaths),
    '/sign-in',
    '/nothing',
    '/assets/..%2f',
    '/device?user_code=a&user_code=b',
  ]
  expect(await attack(identity.url, paths)).toEqual([])
  expect(errorsIn(identity.errors())).toEqual([])
})

it('the discovery service answers all of them, and logs no error', async () => {
  const { discovery } = services.stack
  const paths = [...filled(discoveryPaths), `${discoveryPaths.nodes}/x`, `${discoveryPaths.nodes}/%zz/track`]
  expect(await attack(discovery.url, paths)).toEqual([])
  expect(errorsIn(discovery.errors())).toEqual([])
})

it('the runtime answers all of them, also to an owner, and logs no error', async () => {
  const below = [mcmPaths.images, mcmPaths.uploads, mcmPaths.containers].flatMap((path) => [
    path,
    `${path}/x`,
    `${path}/%zz/logs`,
  ])
  const paths = [rpcPath, '/jsonrpc/v1/events', '/token', '/mds/v1/nodes', '/healthz', '/nothing', ...below]
  const owner = { Authorization: `Bearer ${services.token}` }
  expect(await attack(services.url(), paths, [owner])).toEqual([])
  expect(errorsIn(services.runtimeErrors())).toEqual([])
})
