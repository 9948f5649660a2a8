/** Who asks too often, too much or too slowly. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDeveloper, runtimeOf } from '../../harness/flow.ts'
import { post } from '../../harness/oauth.ts'
import { type Stack, startStack } from '../../harness/processes.ts'

/** Requests of one address within a minute. */
const limit = 60

let stack: Stack
beforeAll(async () => {
  stack = await startStack({
    identity: [
      `--limits.address=${limit}`,
      '--trustedProxies=127.0.0.1',
      '--limits.client=5',
      '--limits.node=3',
    ],
  })
})
afterAll(() => stack.stop())

let addresses = 0
/** Headers of a caller of its own behind the proxy. */
const caller = () => ({ 'X-Forwarded-For': `10.0.${addresses >> 8}.${addresses++ & 255}` })
const urlOf = (path: string) => stack.identity.url + path

/** Refusals that are waited for: those of 70 requests at once. */
const refusals = 10

/** Sends requests until ten were refused. One more request a second is allowed meanwhile, so on a slow machine more are served. */
async function untilRefused(ask: (at: number) => Promise<Response>) {
  const from = performance.now()
  const refused: Response[] = []
  let served = 0
  while (refused.length < refusals && served < 4 * limit) {
    const answer = await ask(served + refused.length)
    await answer.body?.cancel()
    if (answer.status === 429) refused.push(answer)
    else served++
  }
  return { served, refused, allowed: limit + Math.ceil((performance.now() - from) / 1000) }
}

describe('an address that asks too often', () => {
  const endpoints: Readonly<Record<string, (headers: Record<string, string>) => Promise<Response>>> = {
    'POST /token': (headers) =>
      fetch(urlOf('/token'), { method: 'POST', headers, body: new URLSearchParams({ a: 'b' }) }),
    'POST /device_authorization': (headers) =>
      fetch(urlOf('/device_authorization'), {
        method: 'POST',
        headers,
        body: new URLSearchParams({ a: 'b' }),
      }),
    'POST /revoke': (headers) =>
      fetch(urlOf('/revoke'), { method: 'POST', headers, body: new URLSearchParams({ a: 'b' }) }),
    'POST /introspect': (headers) =>
      fetch(urlOf('/introspect'), { method: 'POST', headers, body: new URLSearchParams({ a: 'b' }) }),
    'GET /userinfo': (headers) => fetch(urlOf('/userinfo'), { headers }),
    'POST /edge/token': (headers) => fetch(urlOf('/edge/token'), { method: 'POST', headers }),
    'POST /console/api': (headers) =>
      fetch(urlOf('/console/api'), {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: '{}',
      }),
    'GET /revocations': (headers) => fetch(urlOf('/revocations'), { headers }),
    'GET /jwks': (headers) => fetch(urlOf('/jwks'), { headers }),
    'POST /edge/hmac/verify': (headers) => fetch(urlOf('/edge/hmac/verify'), { method: 'POST', headers }),
    'a page': (headers) => fetch(`${urlOf('/').replace('127.0.0.1', 'localhost')}account`, { headers }),
    'GET /console/events': (headers) => fetch(urlOf('/console/events'), { headers }),
  }
  it.each(Object.keys(endpoints))('has to wait at %s, and others are served', async (name) => {
    const headers = caller()
    const { served, refused, allowed } = await untilRefused(() => endpoints[name]!(headers))
    expect(refused).toHaveLength(refusals)
    expect(served).toBeGreaterThanOrEqual(limit)
    expect(served).toBeLessThanOrEqual(allowed)
    for (const each of refused) expect(Number(each.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect((await endpoints[name]!(caller())).status).not.toBe(429)
  })

  const revokeFor = async (address: string): Promise<Response> =>
    fetch(urlOf('/revoke'), {
      method: 'POST',
      headers: { 'X-Forwarded-For': address },
      body: new URLSearchParams({ token: 'x' }),
    })

  it('can’t avoid the limit with headers that claim another address', async () => {
    const own = caller()['X-Forwarded-For']
    const { served, allowed } = await untilRefused((at) => revokeFor(`1.2.3.${at}, ${own}`))
    expect(served).toBeLessThanOrEqual(allowed)
  })

  it('of IPv6 counts with its whole network', async () => {
    const { served, allowed } = await untilRefused((at) => revokeFor(`2001:db8:1:2::${at.toString(16)}`))
    expect(served).toBeLessThanOrEqual(allowed)
  })
})

it('a client that requests too many tokens has to wait; a caller that only names it uses up nothing of its limit', async () => {
  const developer = await createDeveloper(stack.state)
  const form = {
    grant_type: 'id_token_signin',
    client_id: developer.clientId,
    id_token: developer.idToken,
    edge_id_token: (await runtimeOf(stack).getEdgeIdToken()).id_token,
    scope: 'openid',
  }
  for (let at = 0; at < 20; at++) await post(urlOf('/token'), { ...form, id_token: 'x' }, caller())
  const statuses = []
  for (let at = 0; at < 8; at++) statuses.push((await post(urlOf('/token'), form, caller())).status)
  expect(statuses.slice(0, 5)).toEqual([200, 200, 200, 200, 200])
  expect(statuses.at(-1)).toBe(429)
})

it.each(['/token', '/revoke', '/introspect', '/device_authorization'])(
  'a body of 65 KiB is refused at %s',
  async (path) => {
    const { status } = await post(urlOf(path), { token: 'x'.repeat(65 * 1024) }, caller())
    expect(status).toBe(413)
  },
)

it('a client that sends its request a byte at a time is cut off', async () => {
  const socket = connect(Number(new URL(stack.identity.url).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.on('error', () => undefined)
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.write(
    'POST /token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n',
  )
  const drip = setInterval(() => socket.write('X'), 1000)
  socket.resume()
  await ended
  clearInterval(drip)
})
