/** A token of another identity service: revoked by its issuer, it is refused by every identity service that trusts the issuer. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { identityPaths } from '@selvedge/protocol'
import { freePort } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDevice, type Device } from '../harness/device.ts'
import { adminOf, createDeveloper, type Developer } from '../harness/flow.ts'
import { post } from '../harness/oauth.ts'
import { freePorts, type Program, startProgram, temporaryFolder } from '../harness/processes.ts'
import { createProgramClock, type ProgramClock } from '../harness/program-clock.ts'

/** Seconds after which a list that could not be fetched again decides nothing. */
const maxAgeSeconds = 600

/** How the other identity service answers requests for its list. */
type Lists = 'answers' | 'fails' | 'replays the first list'

/** An identity service behind a proxy, so that its list of revoked tokens can be withheld or replayed. */
interface Issuer {
  readonly url: string
  readonly state: string
  lists: Lists
  /** How often its list was requested, and how many of these requests have their answer. */
  readonly asked: number
  readonly answered: number
  start(args: readonly string[]): Promise<void>
  /** Stops and starts the service with the same settings; its store stays. */
  restart(): Promise<void>
  stop(): Promise<void>
}

async function createIssuer(): Promise<Issuer> {
  const folder = await temporaryFolder()
  const port = await freePort()
  let program: Program | undefined
  let settings: readonly string[] = []
  let asked = 0
  let answered = 0
  let first: { status: number; headers: Headers; body: string } | undefined
  const proxy: Server = createServer(async (request, response) => {
    const path = request.url ?? '/'
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const isList = path.startsWith(identityPaths.revocations)
    if (isList) {
      asked++
      response.once('finish', () => answered++)
    }
    if (isList && own.lists === 'fails') return void response.writeHead(502).end()
    const answer =
      isList && own.lists !== 'answers' && first
        ? first
        : await forward(request.method ?? 'GET', path, request.headers, Buffer.concat(chunks)).catch(
            () => undefined,
          )
    // The service behind it has not started yet.
    if (!answer) return void response.destroy()
    if (isList && answer.status === 200) first ??= answer
    for (const name of ['content-type', 'etag', 'dpop-nonce', 'retry-after']) {
      const value = answer.headers.get(name)
      if (value !== null) response.setHeader(name, value)
    }
    response.writeHead(answer.status).end(answer.body)
  })
  async function forward(
    method: string,
    path: string,
    headers: NodeJS.Dict<string | string[]>,
    body: Buffer,
  ) {
    const { 'content-type': type, dpop, authorization, 'if-none-match': known } = headers
    const sent = { 'content-type': type, dpop, authorization, 'if-none-match': known }
    const given = Object.entries(sent).filter(([, value]) => value !== undefined) as [string, string][]
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: given,
      ...(body.length > 0 && { body: body.toString() }),
    })
    return { status: answer.status, headers: answer.headers, body: await answer.text() }
  }
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const own: Issuer = {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    state: folder.path,
    lists: 'answers',
    get asked() {
      return asked
    },
    get answered() {
      return answered
    },
    async start(args) {
      settings = args
      program = await startProgram(
        'identity',
        { ...freePorts, ...clock.env, SELVEDGE_STATE: folder.path, SELVEDGE_IDENTITY_PORT: String(port) },
        [`--issuer=${own.url}`, ...args],
      )
    },
    async restart() {
      await program?.stop()
      await own.start(settings)
    },
    async stop() {
      await program?.stop()
      proxy.close()
      proxy.closeAllConnections()
      await folder.remove()
    },
  }
  return own
}

/** The tenant issues access tokens and trusts edge ID tokens of the cloud; the cloud trusts access tokens of the tenant. */
let clock: ProgramClock
let tenant: Issuer
let cloud: Issuer
let developer: Developer
beforeAll(async () => {
  clock = await createProgramClock()
  tenant = await createIssuer()
  cloud = await createIssuer()
  const often = ['--revocations.interval=1', `--revocations.maxAge=${maxAgeSeconds}`]
  await tenant.start([`--trustedEdgeIssuers=${cloud.url}`, ...often])
  await cloud.start([`--trustedTenants=${tenant.url}`, `--edgeAudiences=${tenant.url}`, ...often])
  developer = await createDeveloper(tenant.state)
})
afterAll(async () => {
  await cloud?.stop()
  await tenant?.stop()
  await clock?.remove()
})

const newDevice = () =>
  createDevice({ identityUrl: cloud.url, tenantUrl: tenant.url, discoveryUrl: cloud.url }, developer)
/** Sign-in at the tenant with an edge ID token of the cloud. */
async function exchange(edge: string): Promise<string> {
  const { status, body } = await post(`${tenant.url}${identityPaths.token}`, {
    grant_type: 'id_token_signin',
    client_id: developer.clientId,
    id_token: developer.idToken,
    edge_id_token: edge,
    scope: 'openid edge:account:associate',
  })
  return status === 200 ? 'accepted' : `${status} ${body.error}: ${body.error_description}`
}
/** The device joins the account with an access token of the tenant. */
const associate = (device: Device, access_token: string) =>
  device.state({ account: { id: developer.accountId, access_token } }).then(
    () => 'accepted',
    (cause: Error) => cause.message,
  )
/** A device that has left its account, and a newer access token that could bring it back. */
async function leftDevice(): Promise<{ device: Device; token: string }> {
  const device = await newDevice()
  await device.state({ account: { id: '' } })
  // Foreign tokens are compared by whole seconds with the moment at which the device left.
  await clock.pass(1000)
  const { body } = await post(`${tenant.url}${identityPaths.token}`, {
    grant_type: 'id_token_signin',
    client_id: developer.clientId,
    id_token: developer.idToken,
    edge_id_token: await device.tenantToken(),
    scope: 'openid edge:account:associate',
  })
  return { device, token: body.access_token! }
}
const revoke = (at: Issuer, token: string, more: Record<string, string> = {}) =>
  post(`${at.url}${identityPaths.revoke}`, { token, ...more })
/** Lets time pass until both services have applied a newer list of each other: each requests the next one only after that. */
async function newLists(): Promise<void> {
  const before = [tenant.asked, cloud.asked] as const
  while (tenant.asked < before[0] + 2 || cloud.asked < before[1] + 2) {
    const isUnderWay = tenant.answered < tenant.asked || cloud.answered < cloud.asked
    if (!isUnderWay) await clock.pass(1000)
    await sleep(5)
  }
}
/** Repeats a call, with newer lists, until its answer matches. */
async function until(pattern: RegExp, call: () => Promise<string>): Promise<string> {
  for (let left = 20; ; left--) {
    const answer = await call()
    if (pattern.test(answer) || left === 0) return answer
    await newLists()
  }
}

describe('an access token of another tenant', () => {
  it('associates a device, and does not once its issuer revoked it', async () => {
    const { device, token } = await leftDevice()
    const other = await leftDevice()
    expect(await associate(other.device, other.token)).toBe('accepted')
    expect((await revoke(tenant, token, { client_id: developer.clientId })).status).toBe(200)
    // An accepted token would bring the device into the account, so there is one attempt, after the list was fetched again.
    await newLists()
    expect(await associate(device, token)).toMatch(/access token was revoked: it was revoked/)
  })
})

it('neither kind is accepted while the list of its issuer cannot be fetched; both are again when it can', async () => {
  const { device, token } = await leftDevice()
  tenant.lists = cloud.lists = 'fails'
  // A list that is still on its way would be new once the others are too old.
  await newLists()
  await clock.pass(maxAgeSeconds * 1000)
  const refused = await until(/503/, async () => exchange(await device.tenantToken()))
  expect(refused).toMatch(/503 temporarily_unavailable: the list of revoked tokens of/)
  expect(await associate(device, token)).toMatch(
    /not proved: the list of revoked tokens of .* could not be fetched/,
  )
  tenant.lists = cloud.lists = 'answers'
  expect(await until(/accepted/, async () => exchange(await device.tenantToken()))).toBe('accepted')
  expect(await until(/accepted/, () => associate(device, token))).toBe('accepted')
})

describe('an edge ID token of another cloud', () => {
  it('is refused by the tenant once its issuer revoked it, and the next one is accepted', async () => {
    const device = await newDevice()
    const edge = await device.tenantToken()
    expect(await exchange(edge)).toBe('accepted')
    expect((await revoke(cloud, edge)).status).toBe(200)
    expect(await until(/revoked/, () => exchange(edge))).toMatch(/edge ID token was revoked/)
    expect(await until(/accepted/, async () => exchange(await device.tenantToken()))).toBe('accepted')
  })

  it('is refused by the tenant once the cloud blocked its node', async () => {
    const device = await newDevice()
    const edge = await device.tenantToken()
    await adminOf(cloud.state)['node.block']({ nodeId: device.nodeId })
    expect(await until(/revoked/, () => exchange(edge))).toMatch(/node was blocked/)
  })

  it('stays refused after a restart, when an older list is replayed', async () => {
    const device = await newDevice()
    const edge = await device.tenantToken()
    await revoke(cloud, edge)
    expect(await until(/revoked/, () => exchange(edge))).toMatch(/revoked/)
    cloud.lists = 'replays the first list'
    await tenant.restart()
    expect(await exchange(edge)).toMatch(/revoked/)
    cloud.lists = 'answers'
    expect(await until(/accepted/, async () => exchange(await device.tenantToken()))).toBe('accepted')
  })
})
