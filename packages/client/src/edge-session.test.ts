/** A session that continues without the identity service: against servers that answer, refuse, and are gone. */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseJws } from '@selvedge/protocol/tokens'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createEdgeSession, type EdgeSessionOptions, isAway, type StoredEdgeSession } from './edge-session.ts'
import { ConnectionFailure, OAuthFailure, RpcFailure } from './errors.ts'
import { createProofKey } from './proof-key.ts'

interface Seen {
  readonly path: string
  readonly form: URLSearchParams
  readonly proof: string | undefined
}
interface Peer {
  url: string
  seen: Seen[]
  /** Answers of /token, by status. */
  token: (seen: Seen) => { status: number; body: object }
  close(): Promise<void>
}

let endpoint: string | undefined
const me = (url: string) => ({ offline: { tokenEndpoint: endpoint ?? `${url}/token` } })

async function start(port = 0): Promise<Peer> {
  const peer: Peer = {
    url: '',
    seen: [],
    token: () => ({ status: 500, body: {} }),
    close: async () => undefined,
  }
  const server: Server = createServer((request, response) => {
    readAll(request).then((text) => {
      const path = request.url!
      const seen = {
        path,
        form: new URLSearchParams(text),
        proof: request.headers.dpop as string | undefined,
      }
      peer.seen.push(seen)
      const isCall = path === '/jsonrpc/v1'
      const { status, body } = isCall
        ? {
            status: 200,
            body: {
              jsonrpc: '2.0',
              id: 1,
              result: text.includes('getMe') ? me(peer.url) : { id_token: 'edge' },
            },
          }
        : peer.token(seen)
      response
        .writeHead(status, { 'Content-Type': 'application/json', 'DPoP-Nonce': 'nonce' })
        .end(JSON.stringify(body))
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  peer.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  peer.close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return peer
}
async function readAll(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}

let identity: Peer
let runtime: Peer
let stored: StoredEdgeSession[]
let now: number
const key = await createProofKey()
const answer = (more: object = {}) => ({
  status: 200,
  body: { access_token: 'from-identity', token_type: 'DPoP', expires_in: 3600, scope: 'openid', ...more },
})
const local = () => ({
  status: 200,
  body: { access_token: 'local', token_type: 'DPoP', expires_in: 540, scope: 'openid' },
})

beforeEach(async () => {
  identity = await start()
  runtime = await start()
  identity.token = () => answer({ lease: 'lease-1', refresh_token: 'refresh-1' })
  runtime.token = () => local()
  stored = []
  endpoint = undefined
  now = 1_000_000
})
afterEach(async () => {
  await identity.close()
  await runtime.close()
})

const open = (more: Partial<EdgeSessionOptions> = {}) =>
  createEdgeSession({
    identity: { url: identity.url },
    runtime: { url: runtime.url },
    clientId: 'c',
    scope: 'openid offline_access',
    key,
    developerIdToken: 'developer',
    now: () => now,
    onChange: (session) => void stored.push(session),
    ...more,
  })
const exchanges = ({ seen }: Peer) =>
  seen.filter(({ path, form }) => path === '/token' && form.has('grant_type'))

describe('while the identity service answers', () => {
  it('begins with an exchange, stores what it got first, and refreshes before the token expires', async () => {
    const session = open()
    expect(await session.access()).toMatchObject({ accessToken: 'from-identity', isLocal: false })
    expect(stored).toEqual([{ lease: 'lease-1', refreshToken: 'refresh-1' }])
    await session.access()
    expect(exchanges(identity)).toHaveLength(1)
    identity.token = () => answer({ lease: 'lease-2', refresh_token: 'refresh-2' })
    now += 3_580_000
    await session.access()
    expect(exchanges(identity)[1]!.form.get('refresh_token')).toBe('refresh-1')
    expect(stored.at(-1)).toEqual({ lease: 'lease-2', refreshToken: 'refresh-2' })
  })

  it('shares one request between calls', async () => {
    const session = open()
    await Promise.all([session.access(), session.access(), session.access()])
    expect(exchanges(identity)).toHaveLength(1)
  })

  it('does not use what it could not store', async () => {
    const session = open({ onChange: () => Promise.reject(new Error('full')) })
    await expect(session.access()).rejects.toThrow('full')
    expect(exchanges(runtime)).toHaveLength(0)
  })

  it('reports a refusal, and shows its lease to no one', async () => {
    identity.token = () => ({ status: 400, body: { error: 'invalid_grant', error_description: 'revoked' } })
    const session = open({ stored: { refreshToken: 'r', lease: 'l' } })
    await expect(session.access()).rejects.toMatchObject({ reason: 'invalid_grant' })
    expect(exchanges(runtime)).toHaveLength(0)
  })

  it('drops a lease that the project does not give any more', async () => {
    identity.token = () => answer({ refresh_token: 'refresh-2' })
    await open({ stored: { refreshToken: 'refresh-1', lease: 'old' } }).access()
    expect(stored).toEqual([{ refreshToken: 'refresh-2', lease: undefined }])
  })
})

describe('while the identity service is gone', () => {
  const stored = { refreshToken: 'refresh-1', lease: 'lease-1' }

  it('exchanges its lease at the runtime, with a proof for the address that the runtime names', async () => {
    await identity.close()
    const access = await open({ stored }).access()
    expect(access).toMatchObject({ accessToken: 'local', isLocal: true })
    const [sent] = exchanges(runtime)
    expect([...sent!.form]).toEqual([
      ['grant_type', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
      ['assertion', 'lease-1'],
    ])
    expect(parseJws(sent!.proof!).payload).toMatchObject({ htm: 'POST', htu: `${runtime.url}/token` })
  })

  it('repeats the exchange with the nonce of the runtime', async () => {
    await identity.close()
    runtime.token = ({ proof }) =>
      parseJws(proof!).payload.nonce === 'nonce'
        ? local()
        : { status: 400, body: { error: 'use_dpop_nonce' } }
    expect((await open({ stored }).access()).isLocal).toBe(true)
  })

  it('sends proofs for the token with calls and requests, and the lease to no service', async () => {
    await identity.close()
    const { runtime: client, headers } = await open({ stored }).access()
    await client.getMe()
    const call = runtime.seen.findLast(({ path }) => path === '/jsonrpc/v1')!
    expect(parseJws(call.proof!).payload).toMatchObject({
      htu: `${runtime.url}/jsonrpc/v1`,
      nonce: 'nonce',
      ath: expect.any(String),
    })
    const { Authorization, DPoP } = await headers('GET', `${runtime.url}/hello?x=1#y`)
    expect(Authorization).toBe('DPoP local')
    expect(parseJws(DPoP).payload).toMatchObject({ htm: 'GET', htu: `${runtime.url}/hello` })
  })

  it.each([
    ['a server error', () => ({ status: 500, body: {} })],
    ['no room for more', () => ({ status: 503, body: { error: 'temporarily_unavailable' } })],
    ['something else than the service', () => ({ status: 200, body: { captive: 'portal' } })],
  ])('counts %s as gone', async (_, token) => {
    identity.token = token
    expect((await open({ stored }).access()).isLocal).toBe(true)
  })

  it('works with a lease alone', async () => {
    const { developerIdToken: _, ...rest } = { developerIdToken: '' }
    const session = createEdgeSession({
      ...rest,
      ...{
        identity: { url: identity.url },
        runtime: { url: runtime.url },
        clientId: 'c',
        scope: 'openid',
        key,
      },
      stored: { lease: 'lease-1' },
    })
    expect((await session.access()).isLocal).toBe(true)
  })

  it('fails as the identity service did where there is no lease', async () => {
    await identity.close()
    await expect(open().access()).rejects.toMatchObject({ reason: 'not_running' })
  })

  it('fails with the reason of the runtime if that refuses the lease', async () => {
    await identity.close()
    runtime.token = () => ({ status: 400, body: { error: 'invalid_grant', error_description: 'too old' } })
    await expect(open({ stored }).access()).rejects.toMatchObject({ message: 'too old' })
  })

  it.each([
    'https://identity.example/token',
    'http://127.0.0.1.evil.example/token',
    'http://127.0.0.1:1@evil.example/token',
    'http://127.0.0.1:1/jsonrpc/v1',
    'http://127.0.0.1:1/token?x',
    'file:///token',
    '',
  ])('signs no proof for %s, whatever the runtime names', async (named) => {
    await identity.close()
    endpoint = named
    await expect(open({ stored }).access()).rejects.toMatchObject({ reason: 'bad_answer' })
    expect(exchanges(runtime)).toEqual([])
  })

  it('refreshes once the service is back', async () => {
    const { port } = new URL(identity.url)
    await identity.close()
    const session = open({ stored })
    expect((await session.access()).isLocal).toBe(true)
    identity = await start(Number(port))
    identity.token = () => answer({ lease: 'lease-2', refresh_token: 'refresh-2' })
    now += 530_000
    expect(await session.access()).toMatchObject({ accessToken: 'from-identity', isLocal: false })
    session.forget()
    expect((await session.access()).isLocal).toBe(false)
  })
})

describe('a key', () => {
  it('is the same after it was stored', async () => {
    const again = await createProofKey(await key.export())
    expect(again.jwk).toEqual(key.jwk)
    expect(await again.export()).toEqual(await key.export())
  })

  it('that is no private key is refused', async () => {
    await expect(createProofKey({ ...key.jwk, d: '' })).rejects.toThrow()
    await expect(createProofKey({ ...key.jwk, d: 'AA' })).rejects.toThrow()
  })

  it('shows no private part in a proof', async () => {
    const proof = await key.prove({ method: 'GET', url: 'https://a.example/x' })
    expect(parseJws(proof).header.jwk).toEqual(key.jwk)
    expect(JSON.stringify(parseJws(proof).header)).not.toContain('"d"')
  })
})

describe('a token of a session', () => {
  it('is used until half a minute before it expires', async () => {
    const session = open()
    const first = await session.access()
    expect(first.expiresAt).toBe(1_000_000 + 3_600_000)
    now = first.expiresAt - 30_000
    expect(await session.access()).toBe(first)
    now++
    expect(await session.access()).not.toBe(first)
    expect(exchanges(identity)).toHaveLength(2)
  })

  it('is stored only when a credential is another one', async () => {
    identity.token = () => answer({ lease: 'lease-1' })
    const session = open({ stored: { refreshToken: 'refresh-1', lease: 'lease-1' } })
    await session.access()
    expect(stored).toEqual([])
    identity.token = () => answer({ lease: 'lease-2' })
    session.forget()
    await session.access()
    expect(stored).toEqual([{ refreshToken: 'refresh-1', lease: 'lease-2' }])
  })

  it('that is local serves while the session tries once a minute to refresh', async () => {
    const clock = performance.now.bind(performance)
    let passed = 0
    performance.now = () => clock() + passed
    try {
      identity.token = () => ({ status: 500, body: {} })
      const session = open({ stored: { refreshToken: 'refresh-1', lease: 'lease-1' } })
      const local = await session.access()
      expect(local.isLocal).toBe(true)
      await session.access()
      expect(exchanges(identity)).toHaveLength(1)
      passed += 60_000
      expect(await session.access()).toBe(local)
      await expect.poll(() => exchanges(identity).length).toBe(2)
      identity.token = () => answer({ lease: 'lease-2', refresh_token: 'refresh-2' })
      passed += 60_000
      expect(await session.access()).toBe(local)
      await expect.poll(async () => (await session.access()).isLocal).toBe(false)
    } finally {
      performance.now = clock
    }
  })

  it('needs a refresh token or a developer ID token', async () => {
    const session = createEdgeSession({
      ...{ identity: { url: identity.url }, runtime: { url: runtime.url }, clientId: 'c', scope: '', key },
    })
    await expect(session.access()).rejects.toMatchObject({
      reason: 'refused',
      message: 'the session has no refresh token and no developer ID token',
    })
    expect(identity.seen).toEqual([])
  })
})

it.each<[cause: unknown, isGone: boolean]>([
  [new ConnectionFailure('not_running', ''), true],
  [new ConnectionFailure('timeout', ''), true],
  [new ConnectionFailure('bad_answer', ''), true],
  [new ConnectionFailure('refused', ''), true],
  [new ConnectionFailure('aborted', ''), false],
  [new OAuthFailure('temporarily_unavailable', '', 500), true],
  [new OAuthFailure('temporarily_unavailable', '', 499), false],
  [new RpcFailure({ code: 0, message: '', data: { reason: 'identity_unavailable' } } as never), true],
  [new RpcFailure({ code: 0, message: '', data: { reason: 'forbidden' } } as never), false],
  [new Error('a defect'), false],
  [undefined, false],
])('%o counts as an identity service that is gone: %j', (cause, isGone) => {
  expect(isAway(cause)).toBe(isGone)
})
