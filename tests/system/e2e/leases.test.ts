/** Work at a device without a network: leases, from the setting of the project to the audit log, with real programs. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createEdgeSession, createProofKey, type EdgeSession, type StoredEdgeSession } from '@selvedge/client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { cliEnvOf } from '../../harness/cli.ts'
import { runCliHere as runCli } from '../../harness/cli-here.ts'
import { enterByLink } from '../../harness/console.ts'
import { adminOf } from '../../harness/flow.ts'
import { type Program, startProgram } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'

let services: Services
let tokenFile: string
let again: Program | undefined
let session: EdgeSession
let stored: StoredEdgeSession
const key = await createProofKey()

const env = () => cliEnvOf(services.stack)
const source = () => ['--developer-token-file', tokenFile, '--client-id', services.developer.clientId]
const run = (...args: string[]) => runCli([...args, '--json'], env())

/** Until a condition holds. */
async function eventually(check: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt++) {
    if (await check()) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('it did not happen within twenty seconds')
}

beforeAll(async () => {
  services = await startServices({ args: ['--revocations.interval=1'] })
  tokenFile = join(services.stack.state, 'developer.jwt')
  writeFileSync(tokenFile, services.developer.idToken, { mode: 0o600 })
  await services.deploy(
    'hello',
    'export default { fetch: (request) => Response.json({ client: request.headers.get("x-selvedge-client") }) }',
  )
  session = createEdgeSession({
    identity: { url: services.stack.identity.url },
    runtime: { url: services.url() },
    clientId: services.developer.clientId,
    scope: 'openid edge:mcm',
    key,
    developerIdToken: services.developer.idToken,
    onChange(now) {
      stored = now
    },
  })
})
afterAll(async () => {
  await again?.stop()
  await services.stop()
})

it('a project has no leases until it is set', async () => {
  const before = await run('container', 'list', ...source())
  expect(before).toMatchObject({ code: 0, errors: '' })
  expect(readdirSync(services.stack.state)).not.toContain('config')
  const { clientId } = services.developer
  const { code, out } = await run(
    'admin',
    'project',
    'offline',
    clientId,
    '--max-days',
    '30',
    '--scopes',
    'edge:mcm',
  )
  expect({ code, offline: JSON.parse(out).offline }).toEqual({
    code: 0,
    offline: { maxDays: 30, scopes: ['edge:mcm'] },
  })
})

it('the command line and the library get a lease beside their token', async () => {
  expect(await run('container', 'list', ...source())).toMatchObject({ code: 0, errors: '' })
  const folder = join(services.stack.state, 'config/selvedge/leases')
  const [file] = readdirSync(folder)
  expect(JSON.parse(readFileSync(join(folder, file!), 'utf8'))).toMatchObject({
    clientId: services.developer.clientId,
    lease: expect.stringMatching(/^eyJ/),
  })
  expect((await session.access()).isLocal).toBe(false)
  expect(stored.lease).toMatch(/^eyJ/)
})

it('without the network both go on, to methods and through the gateway', async () => {
  await services.stack.identity.stop('SIGKILL')
  await services.stack.discovery.stop('SIGKILL')
  const listed = await run('container', 'list', ...source())
  expect(listed).toMatchObject({ code: 0, errors: expect.stringContaining('working on a lease until') })
  expect(JSON.parse(listed.out)).toHaveLength(1)
  const called = await run('curl', 'hello', '/', ...source())
  expect({ code: called.code, body: JSON.parse(JSON.parse(called.out).body) }).toEqual({
    code: 0,
    body: { client: services.developer.clientId },
  })

  session.forget()
  const local = await session.access()
  expect(local.isLocal).toBe(true)
  expect(await local.runtime.getContainers({ edgeAccessToken: local.accessToken })).toHaveLength(1)
  const [container] = await local.runtime.getContainers({ edgeAccessToken: local.accessToken })
  const url = services.url() + container!.basePath
  expect((await fetch(url, { headers: await local.headers('GET', url) })).status).toBe(200)
})

it('the status shows who works on a lease', async () => {
  const { out } = await run('status')
  expect(JSON.parse(out).runtime.leases).toEqual([
    expect.objectContaining({
      clientId: services.developer.clientId,
      signIn: services.developer.jti,
      tokens: 3,
    }),
  ])
})

it('what the lease does not name is refused', async () => {
  const nodes = await run('nodes', '--cluster', 'proximity', ...source())
  expect(nodes.code).not.toBe(0)
  expect(nodes.errors).toContain('edge:clusters')
  const leave = await run('account', 'unassociate', '--yes', ...source())
  expect(leave.code).not.toBe(0)
})

it('when the network is back, tokens are refreshed, and the audit log has who worked', async () => {
  const { stack, developer } = services
  again = await startProgram('identity', {
    SELVEDGE_STATE: stack.state,
    SELVEDGE_IDENTITY_PORT: new URL(stack.identity.url).port,
  })
  await eventually(async () => (await services.runtime().getMe()).offline.leases!.length === 0)
  const { link } = await adminOf(stack.state)['account.link']({ email: developer.email })
  const person = await enterByLink(again.url, link, developer.email)
  const records = await person.api['audit.list']({ before: null })
  const { nodeId } = await services.runtime().getMe()
  expect(records.find(({ action }) => action === 'lease.use')).toMatchObject({
    subject: nodeId,
    actor: 'the device',
    detail: expect.stringContaining(`local tokens for ${developer.email}`),
  })
  session.forget()
  expect((await session.access()).isLocal).toBe(false)
})
