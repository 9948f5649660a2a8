/** Services that redirect to another origin: no client of ours brings its credentials there. */
import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import {
  createDiscoveryClient,
  createIdentityClient,
  createRuntimeClient,
  type Fetch,
} from '@selvedge/client'
import { createNodeFetch, followLogs } from '@selvedge/client/node'
import { createGetJson } from '@selvedge/service-kit/http'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { runCliHere } from '../harness/cli-here.ts'
import { temporaryFolder } from '../harness/processes.ts'
import { everyCall } from './cli-commands.ts'

const secret = 'redirected-S3cr3tS3cr3t'
let hostile: Server
let thief: Server
let url: string
/** Requests that reached the other origin. */
let stolen: string[]
let asked = 0
let status = 307

const listen = async (server: Server) => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
beforeAll(async () => {
  thief = createServer((request, response) => {
    stolen.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`)
    response.end('{}')
  })
  const elsewhere = await listen(thief)
  hostile = createServer((request, response) => {
    asked++
    request.resume()
    response.writeHead(status, { Location: `${elsewhere}${request.url}` }).end()
  })
  url = await listen(hostile)
})
afterAll(() => {
  for (const each of [hostile, thief]) {
    each.closeAllConnections()
    each.close()
  }
})
beforeEach(() => {
  stolen = []
  asked = 0
})

const fetches: readonly [string, Fetch | undefined][] = [
  ['the fetch of the platform', undefined],
  ['the fetch for Node', createNodeFetch()],
]
const connection = (fetch: Fetch | undefined) => ({ url, ...(fetch && { fetch }) })
const calls: readonly [string, () => Promise<unknown>][] = [
  ...fetches.flatMap(([name, fetch]): [string, () => Promise<unknown>][] => [
    [
      `runtime with an API key, ${name}`,
      () => createRuntimeClient({ ...connection(fetch), apiKey: secret }).getEngines(),
    ],
    [
      `runtime with a token, ${name}`,
      () => createRuntimeClient(connection(fetch)).getContainers({ edgeAccessToken: secret }),
    ],
    [
      `identity, exchange, ${name}`,
      () =>
        createIdentityClient(connection(fetch)).exchange({
          clientId: 'c',
          developerIdToken: secret,
          edgeIdToken: secret,
          scope: 'openid',
        }),
    ],
    [
      `identity, refresh, ${name}`,
      () =>
        createIdentityClient(connection(fetch)).refresh({
          clientId: 'c',
          refreshToken: secret,
          scope: 'openid',
        }),
    ],
    [`discovery, last fix, ${name}`, () => createDiscoveryClient(connection(fetch)).lastFix('n', secret)],
  ]),
  ['a followed log', () => followLogs({ url, edgeAccessToken: secret }, 'c', {}, () => undefined)],
  ['JSON of another service', () => createGetJson(fetch)(`${url}/?token=${secret}`)],
]

it.each(calls)('%s: nothing goes to the other origin', async (_, call) => {
  for (status of [301, 302, 303, 307, 308]) await expect(call()).rejects.toThrow()
  expect(asked).toBeGreaterThanOrEqual(5)
  expect(stolen).toEqual([])
})

it('no command of the command line brings a credential to the other origin', async () => {
  const folder = await temporaryFolder()
  const place = (name: string) => join(folder.path, name)
  for (const name of ['access', 'developer']) writeFileSync(place(name), `${secret}-${name}`, { mode: 0o600 })
  const files = {
    folder: folder.path,
    secret,
    tokenFile: place('access'),
    developerTokenFile: place('developer'),
  }
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: place('home'),
    XDG_CONFIG_HOME: place('config'),
    SELVEDGE_ACCESS_TOKEN: `${secret}-environment`,
    SELVEDGE_API_KEY: `${secret}-key`,
  }
  status = 307
  const there = ['--url', url, '--identity-url', url, '--discovery-url', url]
  const calls = everyCall(files).filter(
    ({ lasts, args }) => !lasts && args[0] !== 'simulate' && args[0] !== 'admin',
  )
  for (const { args } of calls) await runCliHere([...args, ...there], env, folder.path)
  expect(calls.length).toBeGreaterThan(30)
  expect(asked).toBeGreaterThan(20)
  expect(stolen).toEqual([])
  await folder.remove()
})
