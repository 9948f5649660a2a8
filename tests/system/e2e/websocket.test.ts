/** JSON-RPC over WebSocket as a user has it: tokens, the API key, all listeners, and the end of the runtime. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { formerSocketPath, identityPaths, rpcPath } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ClientOptions, WebSocket } from 'ws'
import { forge, readIssuerKeys } from '../../attacks/forge.ts'
import { makeCertificate } from '../../harness/certificate.ts'
import { accessToken, createDeveloper, type Developer, runtimeOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { createProofKey } from '../../harness/oauth.ts'
import { type Stack, startStack } from '../../harness/processes.ts'

let stack: Stack
let developer: Developer
let token: string
beforeAll(async () => {
  stack = await startStack({ runtime: ['--revocations.interval=1'] })
  developer = await createDeveloper(stack.state)
  token = await accessToken(stack, developer)
  await runtimeOf(stack).associateAccount({ edgeAccessToken: token })
})
afterAll(() => stack.stop())

interface Answer {
  readonly id: number
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number; readonly data: { readonly reason: string } }
}

/** Connects a client that calls one method after the other. */
async function connect(url: string, options: ClientOptions = {}) {
  const client = new WebSocket(url, options)
  const closed = new Promise<number>((resolve) => client.once('close', resolve))
  client.on('error', () => undefined)
  await once(client, 'open')
  let id = 0
  const call = async (method: string, params: unknown = []): Promise<Answer> => {
    client.send(JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }))
    const [text] = await once(client, 'message')
    return JSON.parse(String(text))
  }
  return { client, call, closed, end: () => client.terminate() }
}

const socketUrl = (path: string = rpcPath) => stack.runtime.url.replace(/^http/, 'ws') + path
const reasonOf = ({ error }: Answer): string | undefined => error?.data.reason
const forged = (payload: object) =>
  forge(token, { name: '', payload: payload as never, expect: '' }, readIssuerKeys(stack.state))

/** The status of a handshake that is refused. */
async function refusal(url: string, options: ClientOptions = {}): Promise<number> {
  const client = new WebSocket(url, options)
  client.on('error', () => undefined)
  const [, response] = await once(client, 'unexpected-response')
  response.resume()
  client.terminate()
  return response.statusCode
}

describe('a client', () => {
  it.each([rpcPath, formerSocketPath])('calls every kind of method at %s', async (path) => {
    const { call, end } = await connect(socketUrl(path))
    expect(await call('getMe')).toMatchObject({ id: 1, result: { accountId: developer.accountId } })
    expect(await call('getEdgeIdToken')).toMatchObject({ result: { id_token: expect.any(String) } })
    expect(await call('updateGps', [token, '1', '2', '3', '4'])).toMatchObject({
      result: { status: expect.any(String) },
    })
    expect(await call('getGps', { edgeAccessToken: token })).toMatchObject({ result: { longitude: '1' } })
    expect(await call('getContainers', [token])).toMatchObject({ result: [] })
    expect(reasonOf(await call('getGps', ['x']))).toBe('token_malformed')
    expect(reasonOf(await call('unknown'))).toBe('method_not_found')
    end()
  })

  it('connects over the Unix socket as well', async () => {
    const { call, end } = await connect(`ws+unix://${join(stack.state, 'runtime.sock')}:${rpcPath}`)
    expect(await call('getMe')).toMatchObject({ result: { accountId: developer.accountId } })
    end()
  })

  it('has its token checked with every call: one that expires or is revoked meanwhile is refused', async () => {
    const { call, end } = await connect(socketUrl())
    const short = forged({ iat: '$now-3600', exp: '$now-57', jti: randomUUID() })
    expect(reasonOf(await call('getGps', [short]))).toBeUndefined()
    const own = await accessToken(stack, developer)
    expect(reasonOf(await call('getGps', [own]))).toBeUndefined()
    const revoked = await fetch(stack.identity.url + identityPaths.revoke, {
      method: 'POST',
      body: new URLSearchParams({ token: own, client_id: developer.clientId }),
    })
    expect(revoked.status).toBe(200)
    await expect.poll(async () => reasonOf(await call('getGps', [own]))).toBe('token_revoked')
    await expect.poll(async () => reasonOf(await call('getGps', [short]))).toBe('token_expired')
    expect(reasonOf(await call('getGps', [token]))).toBeUndefined()
    end()
  })

  it('with a key-bound token proves the key in the handshake, for all calls of the connection', async () => {
    const key = createProofKey()
    const bound = forged({ cnf: { jkt: key.jkt }, jti: randomUUID() })
    const other = forged({ cnf: { jkt: createProofKey().jkt }, jti: randomUUID() })
    const prove = (nonce?: string, htu = stack.runtime.url + rpcPath) =>
      key.prove({ htm: 'GET', htu, nonce, accessToken: bound })
    const first = new WebSocket(socketUrl(), { headers: { DPoP: prove() } })
    const [{ headers }] = await once(first, 'upgrade')
    first.terminate()
    const nonce = headers['dpop-nonce']
    const { call, end } = await connect(socketUrl(), { headers: { DPoP: prove(nonce) } })
    for (let at = 0; at < 3; at++) expect(reasonOf(await call('getGps', [bound]))).toBeUndefined()
    expect(reasonOf(await call('getGps', [other]))).toBe('invalid_dpop_proof')
    end()
    const without = await connect(socketUrl())
    expect(reasonOf(await without.call('getGps', [bound]))).toBe('invalid_dpop_proof')
    without.end()
    const elsewhere = await connect(socketUrl(), { headers: { DPoP: prove(nonce, stack.identity.url) } })
    expect(reasonOf(await elsewhere.call('getGps', [bound]))).toBe('invalid_dpop_proof')
    elsewhere.end()
  })
})

describe('of more than 64 connections', () => {
  /** Connections that opened later, without a token. */
  const openOthers = async () => {
    const others: Awaited<ReturnType<typeof connect>>[] = []
    for (let at = 0; at < 64; at++) others.push(await connect(socketUrl()))
    return () => {
      for (const { end } of others) end()
    }
  }

  it('those that proved a token stay, until the token is not valid any more', async () => {
    const lasting = await connect(socketUrl())
    const short = await connect(socketUrl())
    const without = await connect(socketUrl())
    const wrong = await connect(socketUrl())
    expect(reasonOf(await lasting.call('getGps', [token]))).toBeUndefined()
    expect(
      reasonOf(await short.call('getGps', [forged({ iat: '$now-3600', exp: '$now-57', jti: randomUUID() })])),
    ).toBeUndefined()
    expect(reasonOf(await without.call('getMe'))).toBeUndefined()
    expect(reasonOf(await wrong.call('getGps', [forged({ node_id: 'b'.repeat(56) })]))).toBe('wrong_node')
    const endOthers = await openOthers()
    expect(await without.closed).toBe(1013)
    expect(await wrong.closed).toBe(1013)
    // It expires within seconds; then it is the one that was unused for the longest time, or the others are.
    await expect
      .poll(
        async () => {
          await connect(socketUrl())
          return short.client.readyState
        },
        { interval: 100 },
      )
      .toBe(WebSocket.CLOSED)
    expect(reasonOf(await lasting.call('getGps', [token]))).toBeUndefined()
    lasting.end()
    endOthers()
  })
})

describe('with an API key', () => {
  it(
    'and TLS, a handshake without the key is refused, and every call has the key',
    needs('openssl'),
    async () => {
      const files = makeCertificate(stack.state, 'websocket')
      const secured = await startStack({
        runtime: ['--apiKey=true', `--listen.tlsCert=${files.cert}`, `--listen.tlsKey=${files.key}`],
      })
      try {
        const url = secured.runtime.url.replace(/^http/, 'ws') + rpcPath
        expect(url).toMatch(/^wss:/)
        const ca = readFileSync(files.cert)
        const key = readFileSync(join(secured.state, 'api-key'), 'utf8').trim()
        expect(await refusal(url, { ca })).toBe(401)
        for (const wrong of [`Bearer ${'x'.repeat(43)}`, `Basic ${key}`, key, `Bearer ${key}x`])
          expect(await refusal(url, { ca, headers: { Authorization: wrong } })).toBe(401)
        expect(await refusal(`${url}?apiKey=${key}`, { ca })).toBe(404)
        const { call, end } = await connect(url, { ca, headers: { Authorization: `Bearer ${key}` } })
        expect(await call('getEdgeIdToken')).toMatchObject({ result: { id_token: expect.any(String) } })
        // Other machines do not see where the device gets its tokens from.
        expect(JSON.stringify(await call('getMe'))).not.toContain(secured.identity.url)
        end()
      } finally {
        await secured.stop()
      }
    },
  )
})

describe('the runtime that stops', () => {
  it('closes the connections of its clients, and starts again', async () => {
    const own = await startStack()
    const { call, closed } = await connect(own.runtime.url.replace(/^http/, 'ws') + rpcPath)
    expect(await call('getMe')).toMatchObject({ id: 1 })
    await own.runtime.stop()
    expect(await closed).toBe(1001)
    await own.stop()
  })
})
