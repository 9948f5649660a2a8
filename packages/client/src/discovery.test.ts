/** Requests to the discovery service: each is signed for its path and body, and answers are checked. */
import { generateKeyPairSync } from 'node:crypto'
import { beforeEach, expect, it } from 'vitest'
import { createDiscoveryClient } from './discovery.ts'

interface Sent {
  readonly method: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string | undefined
}
let sent: Sent[]
let answers: [status: number, body: unknown, nonce?: string][]
beforeEach(() => {
  sent = []
  answers = []
})

const client = createDiscoveryClient({
  url: 'http://discovery.example',
  fetch: async (url, { method, headers, body }) => {
    sent.push({ method, url: url.replace('http://discovery.example', ''), headers, body })
    const [status, json, nonce = null] = answers.shift()!
    const get = (name: string) => (name.toLowerCase() === 'dpop-nonce' ? nonce : null)
    return { status, headers: { get }, text: async () => JSON.stringify(json) }
  },
})
const authorize = (method: string, path: string, body: string) => `Session ${method} ${path} ${body}`

it('a session begins with a proof of the token and the body, again with the nonce of the service', async () => {
  const session = {
    ...{ ticket: 't', session_key: 's', expires_in: 9, report_within: 3, account_key: 'a' },
    key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }),
  }
  answers = [
    [401, { error: 'use_dpop_nonce', error_description: '' }, 'n'],
    [200, session],
  ]
  const request = { name: 'van' } as never
  const proofs: unknown[] = []
  const prove = (nonce: string | undefined, body: string) => {
    proofs.push([nonce, body])
    return `proof ${nonce}`
  }
  expect(await client.beginSession(request, 'token', prove)).toEqual(session)
  const body = '{"name":"van"}'
  expect(proofs).toEqual([
    [undefined, body],
    ['n', body],
  ])
  expect(sent[1]).toMatchObject({
    ...{ method: 'POST', url: '/v1/sessions', body },
    headers: { Authorization: 'DPoP token', DPoP: 'proof n', 'Content-Type': 'application/json' },
  })
})

it('a report is signed with its body', async () => {
  answers = [[200, { accepted: 0, newest: -1 }]]
  expect(await client.report([], authorize)).toEqual({ accepted: 0, newest: -1 })
  expect(sent).toEqual([
    {
      ...{ method: 'POST', url: '/v1/fixes', body: '[]' },
      headers: expect.objectContaining({
        ...{ Authorization: 'Session POST /v1/fixes []', 'Content-Type': 'application/json' },
      }),
    },
  ])
})

it.each([
  [{ cluster: 'account', radius: undefined }, '/v1/nodes?cluster=account'],
  [{ cluster: 'proximity', radius: 5, after: 'a b' }, '/v1/nodes?cluster=proximity&radius=5&after=a+b'],
  [{}, '/v1/nodes'],
] as const)('nodes by %j are signed with the query', async (query, path) => {
  const list = { type: 'account', data: [], next: null }
  answers = [[200, list]]
  expect(await client.nodes(query as never, authorize)).toEqual(list)
  expect(sent).toMatchObject([
    { method: 'GET', url: path, headers: { Authorization: `Session GET ${path} ` } },
  ])
})

it('a track is of a node, and a last fix for the bearer of a token', async () => {
  const track = { data: [[1, 2, 3]], next: null, until: null }
  const fix = {
    ...{
      longitude: 1,
      latitude: 2,
      speed: 0,
      bearing: 0,
      source: 'api',
      nodeId: 'n',
      nodeName: 'van',
      accountId: 'a',
    },
    ...{
      fixedAt: '2026-01-01T00:00:00Z',
      receivedAt: '2026-01-01T00:00:00Z',
      ageSeconds: 1,
      precision: 'exact',
      suspect: false,
    },
  }
  answers = [
    [200, track],
    [200, fix],
  ]
  expect(await client.track('n', { limit: 5 } as never, authorize)).toEqual(track)
  expect(await client.lastFix('n', 'token')).toMatchObject({ nodeId: 'n' })
  expect(sent).toMatchObject([
    {
      method: 'GET',
      url: '/v1/nodes/n/track?limit=5',
      headers: { Authorization: 'Session GET /v1/nodes/n/track?limit=5 ' },
    },
    { method: 'GET', url: '/v1/nodes/n/fix', headers: { Authorization: 'Bearer token' } },
  ])
})

it('a refusal and an answer that is not of the service are failures', async () => {
  answers = [
    [404, { error: 'not_found', error_description: 'no' }],
    ...Array.from({ length: 4 }, () => [200, { x: 1 }] as [number, object]),
  ]
  await expect(client.lastFix('n', 'token')).rejects.toMatchObject({ reason: 'not_found' })
  await expect(client.lastFix('n', 'token')).rejects.toMatchObject({ reason: 'bad_answer' })
  await expect(client.report([], authorize)).rejects.toMatchObject({ reason: 'bad_answer' })
  await expect(client.nodes({ cluster: 'account' }, authorize)).rejects.toMatchObject({
    reason: 'bad_answer',
  })
  await expect(client.track('n', {}, authorize)).rejects.toMatchObject({ reason: 'bad_answer' })
})
