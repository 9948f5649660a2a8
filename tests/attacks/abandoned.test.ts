/**
 * Clients leave requests on every route of the daemons: afterwards no count has them, and others are served.
 * `SELVEDGE_ABANDONED=5000` sends that many to each route.
 */
import { request } from 'node:http'
import { join } from 'node:path'
import { discoveryPaths, eventsPath, identityPaths, mcmPaths, rpcPath } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { httpRoutes as discoveryRoutes } from '../../apps/discovery/src/discovery.ts'
import { httpRoutes as runtimeRoutes } from '../../apps/runtime/src/runtime.ts'
import { type Abandoned, abandon } from '../harness/abandon.ts'
import { type ConsoleSession, enterByLink } from '../harness/console.ts'
import { temporaryFolder } from '../harness/processes.ts'
import { readMetrics } from '../harness/read-metrics.ts'
import { type Services, startServices } from '../harness/services.ts'

const daemons = ['runtime', 'identity', 'discovery'] as const
type Daemon = (typeof daemons)[number]

/** Clients for each of the nine ways to leave. */
const times = Math.ceil(Number(process.env.SELVEDGE_ABANDONED ?? 45) / 9)
const honest = times > 100 ? 100 : 3
/** So many at the same time are answered on a busy machine as well: beyond that, requests that queue are refused. */
const atOnce = 8

let services: Services
let sockets: Awaited<ReturnType<typeof temporaryFolder>>
let session: ConsoleSession

beforeAll(async () => {
  sockets = await temporaryFolder()
  const measured = (name: Daemon) => [`--metrics.listen=${join(sockets.path, `${name}.sock`)}`]
  services = await startServices({
    args: measured('runtime'),
    identity: measured('identity'),
    discovery: measured('discovery'),
  })
  const { identity } = services.stack
  session = await enterByLink(identity.url, identity.ready.setup!, 'ada@example.com')
  await services.deploy(
    'slow',
    'export default { fetch: async () => { await new Promise((done) => setTimeout(done, 50)); return new Response("ok") } }',
    { 'MCM.BASE_API_PATH': '/slow' },
  )
})
afterAll(async () => {
  await services.stop()
  await sockets.remove()
})

const portOf = (daemon: Daemon) => Number(new URL(services.stack[daemon].url).port)

/** Work that a daemon counts, without the kinds that have a zero. */
async function underWay(daemon: Daemon): Promise<string[]> {
  const text = await readMetrics(join(sockets.path, `${daemon}.sock`))
  expect(text).toContain('selvedge_work_under_way')
  return text.split('\n').filter((line) => /^selvedge_(work_under_way|stalled_routes)\b.* [^0]/.test(line))
}

/** A complete request by itself. @returns its status */
function ask(daemon: Daemon, { target, headers, body }: Abandoned): Promise<number> {
  const [method, path] = target.split(' ') as [string, string]
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        port: portOf(daemon),
        host: '127.0.0.1',
        path,
        method,
        headers: { Host: 'localhost', ...headers, 'Content-Length': Buffer.byteLength(body) },
        agent: false,
      },
      (response) => {
        resolve(response.statusCode!)
        response.destroy()
      },
    )
    asked.on('error', reject)
    asked.end(body)
  })
}

const json = { 'Content-Type': 'application/json' }
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
const fields = 'client_id=selvedge-cli&grant_type=refresh_token&refresh_token=x&token=x&scope=openid'

const pathOf = (route: string) => route.replace('/*', '/unknown')
const paths: Readonly<Record<Daemon, readonly string[]>> = {
  runtime: [...runtimeRoutes.map(pathOf), '/selvedge', '/unknown'],
  identity: [...Object.values(identityPaths), '/', '/sign-in', '/sign-in/example.com', '/unknown'],
  discovery: [...discoveryRoutes.map(pathOf), discoveryPaths.trackOf('x'), '/unknown'],
}

/** Two requests for each path: most paths have one of the two methods, and refuse the other one. */
function requestsTo(daemon: Daemon, path: string): Abandoned[] {
  const headers = daemon === 'runtime' ? { Authorization: `Bearer ${services.token}` } : {}
  const isForm = daemon === 'identity' && !path.endsWith('/api')
  return [
    { target: `GET ${path}`, headers, body: '' },
    {
      target: `POST ${path}`,
      headers: { ...headers, ...(isForm ? form : json) },
      body: isForm ? fields : '{}',
    },
  ]
}

async function expectServed(daemon: Daemon, requests: readonly Abandoned[]): Promise<void> {
  await expect.poll(() => underWay(daemon), { timeout: 120_000 }).toEqual([])
  for (const each of requests) {
    const statuses: number[] = []
    while (statuses.length < honest) {
      const count = Math.min(atOnce, honest - statuses.length)
      statuses.push(...(await Promise.all(Array.from({ length: count }, () => ask(daemon, each)))))
    }
    expect([each.target, statuses.filter((status) => status === 503)]).toEqual([each.target, []])
  }
}

describe.each(daemons)('the %s daemon, after clients that left,', (daemon) => {
  it('counts nothing any longer on any of its routes, and answers', { timeout: 3_600_000 }, async () => {
    for (const path of paths[daemon]) {
      const requests = requestsTo(daemon, path)
      for (const each of requests) await abandon(portOf(daemon), () => each, times)
      await expectServed(daemon, times > 100 ? requests : [])
    }
    await expectServed(
      daemon,
      paths[daemon].flatMap((path) => requestsTo(daemon, path)),
    )
  })
})

describe('work with a credential ends with its client:', () => {
  it.each([
    ['the events of the runtime', `GET ${eventsPath}?topics=containers`, {}, ''],
    ['an upload', `POST ${mcmPaths.uploads}`, { 'Content-Type': 'application/x-tar' }, 'x'.repeat(100_000)],
    [
      'an image that is sent',
      `POST ${mcmPaths.images}`,
      { 'Content-Type': 'application/x-tar' },
      'x'.repeat(100_000),
    ],
    [
      'a large call',
      `POST ${rpcPath}`,
      json,
      JSON.stringify({ method: 'getMe', params: [], more: 'x'.repeat(200_000) }),
    ],
    ['a call of a service', 'GET /api/slow', {}, ''],
  ])('%s', async (_, target, headers, body) => {
    const each = { target, headers: { ...headers, Authorization: `Bearer ${services.token}` }, body }
    await abandon(portOf('runtime'), () => each, Math.max(times, 3))
    await expectServed('runtime', [])
    expect(await ask('runtime', each)).not.toBe(503)
  })

  it.each([
    identityPaths.consoleEvents,
    identityPaths.consolePlaces,
    identityPaths.consoleAudit,
    identityPaths.consoleDevicesCsv,
  ])('GET %s', async (path) => {
    const port = portOf('identity')
    // Every client has a proof of its own.
    const make = async () => {
      const headers = { ...(await session.signed('GET', path)), Host: `localhost:${port}` }
      return { target: `GET ${path}`, headers, body: '' }
    }
    await abandon(port, make, 1)
    await expectServed('identity', [])
  })
})
