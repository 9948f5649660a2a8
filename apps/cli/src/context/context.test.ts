/** Which service a command talks to, and which credentials travel there. */
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { identityPaths, rpcPath, version } from '@selvedge/protocol'
import { adminMethods } from '@selvedge/protocol/admin'
import { accountApiMethods } from '@selvedge/protocol/console'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { UsageError } from '../failure.ts'
import type { Terminal } from '../output/terminal.ts'
import { type ContextFlags, createContext } from './context.ts'

interface Seen {
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
}

let folder: string
let servers: Server[]
let seen: Seen[]
let notes: string[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'context-'))
  servers = []
  seen = []
  notes = []
})
afterEach(() => {
  for (const server of servers) server.close().closeAllConnections()
  rmSync(folder, { recursive: true })
})

/** A service that notes requests. @param where a path; absent: a port of this machine */
async function serve(where?: string): Promise<string> {
  const server = createServer(({ url, headers }, response) => {
    seen.push({ url, headers })
    response.end('{}')
  })
  servers.push(server)
  server.listen(where ?? { host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  return where ?? `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
const terminal = {
  note: (text: string) => notes.push(text),
  ask: async () => undefined,
} as unknown as Terminal
const make = (flags: ContextFlags, env: Record<string, string> = {}) =>
  createContext(flags, { HOME: folder, XDG_CONFIG_HOME: folder, ...env }, terminal)
/** The answer is not that of a runtime: the test reads what was sent. */
const ignore = () => undefined
const callFirst = (client: object, methods: object) =>
  (client as Record<string, (params: object) => Promise<unknown>>)[Object.keys(methods)[0]!]!({}).catch(
    ignore,
  )

it('the runtime of the environment gets its key, and the name of the program and the machine', async () => {
  const url = await serve()
  const context = make({}, { SELVEDGE_RUNTIME_URL: url, SELVEDGE_API_KEY: 'key-of-env' })
  await context.runtime.getMe().catch(ignore)
  expect(seen).toMatchObject([
    { url: rpcPath, headers: { 'user-agent': `selvedge/${version} on ${hostname()}` } },
  ])
  expect(JSON.stringify(seen[0]!.headers)).toContain('key-of-env')
  expect([context.isLocal(), context.runtimeConnection.url, notes]).toEqual([false, url, []])
})

it('a context has its own address and the key of its file, and nothing of the environment', async () => {
  const [url, other] = [await serve(), 'http://127.0.0.1:9']
  const apiKeyFile = join(folder, 'key')
  writeFileSync(apiKeyFile, 'key-of-file\n', { mode: 0o600 })
  make({}).contexts.add({ name: 'kitchen', url, apiKeyFile })
  const env = { SELVEDGE_RUNTIME_URL: other, SELVEDGE_API_KEY: 'key-of-env' }
  const context = make({ context: 'kitchen' }, env)
  await context.runtime.getMe().catch(ignore)
  expect(context.selection().context?.name).toBe('kitchen')
  expect(JSON.stringify(seen.map(({ headers }) => headers))).toContain('key-of-file')
  expect(JSON.stringify(seen)).not.toContain('key-of-env')
  expect(context.env.SELVEDGE_API_KEY).toBe('key-of-env')
})

it('an option that names no device is refused at once, and a wrong environment when it is used', () => {
  expect(() => make({ context: 'missing' })).toThrow(UsageError)
  expect(() => make({ context: 'missing', url: 'http://127.0.0.1:9' })).toThrow(UsageError)
  const context = make({}, { SELVEDGE_RUNTIME_URL: 'no address' })
  expect(() => context.runtimeConnection.url).toThrow(UsageError)
})

it('a state folder leads to the sockets of its services, with the path in the trace', async () => {
  const state = join(folder, 'state')
  mkdirSync(state, { mode: 0o700 })
  await serve(join(state, 'runtime.sock'))
  await serve(join(state, 'admin.sock'))
  const context = make({ state, verbose: true })
  expect([context.state.path, context.isLocal()]).toEqual([state, true])
  await context.runtime.getMe().catch(ignore)
  expect(seen).toHaveLength(1)
  expect(notes).toEqual([expect.stringMatching(/^curl .*--unix-socket .*runtime\.sock/)])
  await callFirst(context.admin, adminMethods)
  expect(seen).toHaveLength(2)
  expect(notes[1]).toContain('admin.sock')
  expect(await context.streams('token')).toMatchObject({
    socketPath: expect.stringContaining('runtime.sock'),
    edgeAccessToken: 'token',
  })
})

it('streams over TCP have the network of the command, and another token only where one can be fetched', async () => {
  const url = await serve()
  const context = make({}, { SELVEDGE_RUNTIME_URL: url })
  const connection = await context.streams('first', async () => 'second')
  expect(connection).toMatchObject({ url, edgeAccessToken: 'first', prove: undefined })
  expect(connection).not.toHaveProperty('socketPath')
  expect(connection.network).toBeDefined()
  const prove = async () => 'proof'
  context.bound.use('local', { prove } as never, 'http:')
  await connection.renew!()
  expect(connection.edgeAccessToken).toBe('second')
  expect(await connection.prove!('GET', url)).toBe('proof')
  expect(await context.streams('only')).not.toHaveProperty('renew')
})

it('the identity service is the one that is named, and gets no credential over HTTP from another machine', async () => {
  const url = await serve()
  const context = make({ identityUrl: url, verbose: true }, { SELVEDGE_RUNTIME_URL: 'http://127.0.0.1:9' })
  const identity = await context.identity()
  expect(identity.url).toBe(url)
  await identity.client.revoke({ clientId: 'c', token: 'secret-token' }).catch(ignore)
  await context.identityAt(url).revoke({ clientId: 'c', token: 't' }).catch(ignore)
  expect(seen.map((each) => each.url)).toEqual(['/revoke', '/revoke'])
  expect(notes[0]).toMatch(/^curl /)
  expect(notes[0]).not.toContain('secret-token')
  for (const elsewhere of ['http://id.example', 'no address'])
    for (const used of [() => context.identityAt(elsewhere), () => context.accountAt(elsewhere, 'token')])
      expect(used).toThrow('the identity service is')
})

it('an account gets the developer ID token at its own path', async () => {
  const url = await serve()
  await callFirst(make({}).accountAt(url, 'developer-token'), accountApiMethods)
  expect(seen).toMatchObject([{ url: identityPaths.accountApi }])
  expect(JSON.stringify(seen[0]!.headers)).toContain('developer-token')
})

it('the present is in whole seconds', () => {
  const seconds = make({}).now()
  expect(Number.isInteger(seconds)).toBe(true)
  expect(Math.abs(seconds - Date.now() / 1000)).toBeLessThan(60)
})
