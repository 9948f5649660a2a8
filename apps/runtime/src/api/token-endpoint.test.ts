/** The token endpoint of the runtime: which requests are read at all, and what each answer has. */
import { once } from 'node:events'
import { createServer, type Server, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { OAuthError } from '@selvedge/protocol'
import { createMemoryLog } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createTokenEndpoint } from './token-endpoint.ts'

const log = createMemoryLog()
let server: Server
let exchanged: { form: Record<string, string>; proof: string }[]
let failure: Error | undefined

beforeAll(async () => {
  const endpoint = createTokenEndpoint({
    log,
    nonce: () => 'next-nonce',
    leases: {
      async exchange(form: URLSearchParams, proof: string) {
        exchanged.push({ form: Object.fromEntries(form), proof })
        if (failure) throw failure
        return { access_token: 'local' }
      },
    } as never,
  })
  server = createServer((request, response) => {
    if (!endpoint(request, response)) response.writeHead(204).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => void server.close())
beforeEach(() => {
  exchanged = []
  failure = undefined
})

const form = 'application/x-www-form-urlencoded'

interface Sent {
  readonly method?: string
  readonly path?: string
  readonly type?: string | undefined
  readonly proof?: string | undefined
  readonly body?: string | Buffer
}

async function send({ method = 'POST', path = '/token', body = '', ...rest }: Sent = {}) {
  const { type, proof } = { type: form, proof: 'a proof', ...rest }
  const { port } = server.address() as AddressInfo
  const headers = {
    ...(type !== undefined && { 'Content-Type': type }),
    ...(proof !== undefined && { DPoP: proof }),
  }
  const request = sendRequest({ port, host: '127.0.0.1', method, path, headers, agent: false })
  request.on('error', () => undefined)
  request.end(body)
  const [response] = await once(request, 'response')
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  return {
    status: response.statusCode as number,
    headers: response.headers as Record<string, string>,
    body: text === '' ? undefined : JSON.parse(text),
  }
}

it('a request for another path is not for this endpoint', async () => {
  for (const path of ['/token/', '/token?a=b', '/', '/tokens'])
    expect((await send({ path })).status).toBe(204)
  expect(exchanged).toEqual([])
})

it('a form with a proof is exchanged, and the answer has the next nonce', async () => {
  const { status, headers, body } = await send({ body: 'grant_type=x&assertion=a%2Bb' })
  expect([status, body, headers['dpop-nonce']]).toEqual([200, { access_token: 'local' }, 'next-nonce'])
  expect(headers['cache-control']).toBe('no-store')
  expect(exchanged).toEqual([{ form: { grant_type: 'x', assertion: 'a+b' }, proof: 'a proof' }])
})

it.each<[what: string, sent: Sent, status: number, error: string]>([
  ['another method', { method: 'PUT' }, 405, 'invalid_request'],
  ['no content type', { type: undefined }, 415, 'invalid_request'],
  ['another content type', { type: 'application/json' }, 415, 'invalid_request'],
  ['another charset', { type: `${form}; charset=latin1` }, 415, 'invalid_request'],
  ['no proof', { proof: undefined }, 400, 'invalid_dpop_proof'],
  ['a body that is not UTF-8', { body: Buffer.from([0x61, 0xff]) }, 400, 'invalid_request'],
  ['a body that is too large', { body: 'a'.repeat(16 * 1024 + 1) }, 413, 'invalid_request'],
])(
  '%s is refused before anything is exchanged, and the connection closes',
  async (_, sent, status, error) => {
    const answer = await send(sent)
    expect([answer.status, answer.body.error]).toEqual([status, error])
    expect(answer.headers).toMatchObject({ 'dpop-nonce': 'next-nonce', connection: 'close' })
    expect(exchanged).toEqual([])
  },
)

it('a body of the maximum size is read', async () => {
  expect((await send({ body: `a=${'b'.repeat(16 * 1024 - 2)}` })).status).toBe(200)
  expect(exchanged[0]!.form.a).toHaveLength(16 * 1024 - 2)
})

it('a content type in upper case with the charset is accepted', async () => {
  expect((await send({ type: 'Application/X-WWW-Form-Urlencoded; charset=utf-8' })).status).toBe(200)
})

it('a refusal of the exchange has its code, and a defect shows nothing of its cause', async () => {
  failure = new OAuthError('invalid_grant', 'the lease has expired')
  const refused = await send()
  expect([refused.status, refused.body.error, refused.body.error_description]).toEqual([
    400,
    'invalid_grant',
    'the lease has expired',
  ])
  failure = new Error('secret path')
  const failed = await send()
  expect([failed.status, failed.body.error]).toEqual([500, 'server_error'])
  expect(JSON.stringify(failed.body)).not.toContain('secret path')
  expect(failed.headers['dpop-nonce']).toBe('next-nonce')
})
