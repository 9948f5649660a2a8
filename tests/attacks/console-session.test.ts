/**
 * An attacker who has the session cookie of the owner: a browser sends it to every port of a host. What every request needs beside it is expected
 * of all methods and paths, from the declarations alone.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { identityPaths } from '@selvedge/protocol'
import { consoleMethods } from '@selvedge/protocol/console'
import { freePort } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsoleSession, consoleOrigin, enterByLink, openConsole } from '../harness/console.ts'
import { createProofKey, type ProofKey } from '../harness/oauth.ts'
import { freePorts, type Program, startProgram, temporaryFolder } from '../harness/processes.ts'
import { callUrl } from '../harness/services.ts'

const password = 'three quiet herons at dusk'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let identity: Program
let owner: ConsoleSession
/** Another session of the same person, in another browser. */
let other: ConsoleSession
beforeAll(async () => {
  folder = await temporaryFolder()
  identity = await startProgram('identity', { SELVEDGE_STATE: folder.path, ...freePorts })
  owner = await enterByLink(identity.url, identity.ready.setup!, 'ada@example.com')
  await owner.api['password.set']({ password })
  other = openConsole(identity.url)
  await other.api['sign_in.password']({ email: 'ada@example.com', password })
})
afterAll(async () => {
  await identity?.stop()
  await folder?.remove()
})

const paths = [
  identityPaths.consoleEvents,
  identityPaths.consolePlaces,
  identityPaths.consoleAudit,
  identityPaths.consoleDevicesCsv,
  identityPaths.consoleDevicesJson,
]
const methods = Object.values(consoleMethods).flatMap(({ name, access }) =>
  access.caller === 'person' ? [name] : [],
)

interface Sent {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
}
const requests: readonly (readonly [string, Sent])[] = [
  ...methods.map((name): readonly [string, Sent] => [
    name,
    {
      method: 'POST',
      path: identityPaths.consoleApi,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: name, params: {} }),
    },
  ]),
  ...paths.map((path): readonly [string, Sent] => [`GET ${path}`, { method: 'GET', path }]),
]

async function nonce(): Promise<string> {
  const { headers } = await fetch(identity.url + identityPaths.consoleNonce, { redirect: 'error' })
  return headers.get('dpop-nonce')!
}

/** A proof for a request, or for one that differs from it. */
const prove = async (key: ProofKey, { method, path, body }: Sent, more: object = {}) =>
  key.prove({
    htm: method,
    htu: consoleOrigin(identity.url) + path,
    nonce: await nonce(),
    ...(body !== undefined && { body }),
    ...more,
  })

/** What the owner's cookie gets with a proof: the HTTP status, and the reason of a refusal. */
async function send({ method, path, body }: Sent, proof?: string): Promise<string> {
  const response = await fetch(identity.url + path, {
    method,
    redirect: 'error',
    headers: {
      Cookie: owner.cookie(),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(proof !== undefined && { DPoP: proof }),
    },
    ...(body !== undefined && { body }),
  })
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    await response.body?.cancel()
    return '200 '
  }
  const text = await response.text()
  const answer = text.startsWith('{') && !text.includes('\n') ? JSON.parse(text) : {}
  return `${response.status} ${answer.error?.data?.reason ?? answer.error ?? ''}`
}

const refused = '401 invalid_dpop_proof'
const stranger = createProofKey()

describe.each(requests)('%s with the session cookie of the owner', (_, request) => {
  const signedOut = request.method === 'POST' ? '200 signed_out' : '401 invalid_token'

  it('and no proof is refused', async () => {
    expect(await send(request)).toBe(refused)
  })
  it('and a proof of another key is refused', async () => {
    expect(await send(request, await prove(stranger, request))).toBe(signedOut)
  })
  it('and a proof of another session of the same person is refused', async () => {
    expect(await send(request, await prove(other.key, request))).toBe(signedOut)
  })
  it.each([
    ['another method', { htm: 'PUT' }],
    ['another path', { htu: '/console/nothing' }],
    ['the address of another origin', { htu: `http://localhost:1${request.path}` }],
  ])('and a proof for %s is refused', async (_name, more) => {
    const proof = await prove(owner.key, request, more)
    expect(await send(request, proof)).toBe(refused)
  })
  it('and a proof that was used is refused', async () => {
    const proof = await prove(owner.key, request)
    const first = await send(request, proof)
    expect(first).not.toBe(refused)
    expect(first).not.toBe(signedOut)
    expect(await send(request, proof)).toBe(refused)
  })
  it('and a proof without a nonce of the service is to be repeated', async () => {
    const asked = await send(request, await prove(owner.key, request, { nonce: undefined }))
    expect(asked).toBe('401 use_dpop_nonce')
  })
})

describe.each(requests.filter(([, { body }]) => body !== undefined))(
  '%s with the session cookie of the owner',
  (_, request) => {
    it('and a proof for another body, or for none, is refused', async () => {
      const changed = { body: `${request.body} ` }
      expect(await send(request, await prove(owner.key, request, changed))).toBe(refused)
      expect(await send(request, await prove(owner.key, request, { body: undefined }))).toBe(refused)
    })
  },
)

it('signs in nobody without a proof, whatever else is right', async () => {
  const sign = (proof?: string) =>
    send({ method: 'POST', path: identityPaths.consoleApi, body: signIn }, proof)
  const signIn = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'sign_in.password',
    params: { email: 'ada@example.com', password },
  })
  expect(await sign()).toBe(refused)
  const api = { method: 'POST', path: identityPaths.consoleApi, body: signIn } as const
  expect(await sign(await prove(createProofKey(), api))).toBe('200 ')
})

it('a cookie without its key is in the audit log of the account, a few times and not without end', async () => {
  const records = (await owner.api['audit.list']({ before: null })).filter(
    ({ action }) => action === 'session.use',
  )
  expect(records.length).toBeGreaterThan(0)
  expect(records.length).toBeLessThan(10)
  expect(records[0]).toMatchObject({
    actor: 'ada@example.com',
    outcome: 'refused',
    address: '127.0.0.1',
    detail: 'its cookie came without a proof of its key',
  })
})

it('a cookie without its key does not keep the session alive', async () => {
  const database = new DatabaseSync(join(folder.path, 'identity', 'identity.db'), { timeout: 30_000 })
  try {
    const longAgo = Date.now() - 3_600_000
    database.prepare('UPDATE sessions SET last_seen_at = ?').run(longAgo)
    const request = requests.find(([name]) => name === 'session.list')![1]
    await send(request, await prove(stranger, request))
    await send(request)
    const seen = () => database.prepare('SELECT max(last_seen_at) AS at FROM sessions').get()!.at as number
    expect(seen()).toBe(longAgo)
    await owner.api['session.list']()
    expect(seen()).toBeGreaterThan(longAgo)
  } finally {
    database.close()
  }
})

it('cookies that another web server of the host adds do not hide the session', async () => {
  const made = Array.from({ length: 6 }, (_, at) => `selvedge_session=${String(at).padStart(43, 'x')}`)
  const { viewer } = await openConsole(
    identity.url,
    { Cookie: [...made, 'selvedge_session=', owner.cookie()].join('; ') },
    owner.key,
  ).api['session.get']()
  expect(viewer?.email).toBe('ada@example.com')
})

describe('behind a proxy with TLS', () => {
  const origin = 'https://console.example'
  const params = { email: 'ada@example.com', password }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'sign_in.password', params })
  const request: Sent = { method: 'POST', path: identityPaths.consoleApi, body }
  let tls: Program
  let port: number
  beforeAll(async () => {
    await identity.stop()
    port = await freePort()
    const args = [`--issuer=${origin}`, `--listen.port=${port}`]
    tls = await startProgram('identity', { SELVEDGE_STATE: folder.path, ...freePorts }, args)
  })
  afterAll(() => tls?.stop())

  /** A request as the proxy passes it on. */
  const passOn = (sent: Sent, headers: Record<string, string>) =>
    callUrl(`http://127.0.0.1:${port}${sent.path}`, {
      method: sent.method,
      token: null,
      headers: { Host: 'console.example', 'Content-Type': 'application/json', ...headers },
      ...(sent.body !== undefined && { body: sent.body }),
    })

  it('the cookie is bound to the host, and a proof to the address that people use', async () => {
    const nonceOf = async () =>
      (await passOn({ method: 'GET', path: identityPaths.consoleNonce }, {})).headers['dpop-nonce'] as string
    const proofFor = async (htu: string) =>
      stranger.prove({ htu: htu + identityPaths.consoleApi, body, nonce: await nonceOf() })
    expect((await passOn(request, { DPoP: await proofFor('http://console.example') })).status).toBe(401)
    const { status, headers } = await passOn(request, { DPoP: await proofFor(origin) })
    expect(status).toBe(200)
    expect(headers['set-cookie']).toEqual([
      expect.stringMatching(/^__Host-selvedge=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure; /),
    ])
  })
})
