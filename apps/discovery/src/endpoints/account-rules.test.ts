/** What the console of a tenant sees of the nodes of an account, and when a stream of it ends. */
import { discoveryPaths } from '@selvedge/protocol'
import { systemClock } from '@selvedge/service-kit/clock'
import { createHttpApp } from '@selvedge/service-kit/http-app'
import { createLog } from '@selvedge/service-kit/log'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { addAccountEndpoints } from './account.ts'

const now = systemClock.now() / 1000
const node = (at: number) => at.toString(16).padStart(56, '0')
const location = (at: number, account = 'exact') => ({
  ...{ nodeId: node(at), longitude: 12.3456789, latitude: -45.6789123, speed: 3, bearing: 90 },
  ...{ fixedAt: 1000, heardAt: 2999, sharing: { account, others: 'none' } },
})

let claims: Record<string, unknown>
let known: (object | undefined)[]
let asked: unknown[]
let watchers: Map<string, (location: object) => void>
let revoked: (reason: string | undefined) => void
let url: string
let close: () => Promise<void>

beforeEach(async () => {
  claims = { iss: 'tenant', account_id: 'a', scope: 'openid edge:clusters', exp: now + 60 }
  known = []
  asked = []
  watchers = new Map()
  let reason: string | undefined
  const app = createHttpApp(createLog({ service: 'discovery', level: 'error', now: Date.now }), 1024, {
    vital: [],
  })
  addAccountEndpoints(app, {
    clock: systemClock,
    registry: {} as never,
    tracks: {} as never,
    proof: () => ({ dpop: undefined as never, url: '' }),
    store: {
      async last(...of: unknown[]) {
        asked.push(of)
        return known
      },
      async ofAccount(accountId: string) {
        asked.push(accountId)
        return known
      },
      watch(accountId: string, listener: (location: object) => void) {
        watchers.set(accountId, listener)
        return () => void watchers.delete(accountId)
      },
    } as never,
    trust: {
      tenantVerifier: { verify: async () => claims },
      reasonAgainst: () => undefined,
      revokedReason: () => reason,
      onRevocation(listener: () => void) {
        revoked = (given) => {
          reason = given
          listener()
        }
      },
      realms: { ofTenant: (issuer: string, account: string) => `${account}@${issuer}` },
    } as never,
  })
  url = await app.listen({ port: 0, host: '127.0.0.1' })
  close = () => app.close()
})
afterEach(async () => {
  vi.useRealTimers()
  await close()
})

const headers = { Authorization: 'Bearer x' }
async function get(path: string) {
  const response = await fetch(url + path, { headers })
  return { status: response.status, body: await response.json() }
}

it.each([discoveryPaths.accountFixes, discoveryPaths.accountPlaces, discoveryPaths.accountStream])(
  '%s is for tokens with the scope of locations',
  async (path) => {
    claims = { ...claims, scope: 'openid' }
    const { body } = await get(path)
    expect(body).toMatchObject({
      error: 'insufficient_scope',
      error_description: expect.stringMatching(
        /^where the nodes of an account are needs the scope edge:clusters/,
      ),
    })
    expect([asked, watchers.size]).toEqual([[], 0])
  },
)

describe('the fixes of nodes', () => {
  const fixes = (query: string) => get(`${discoveryPaths.accountFixes}${query}`)

  it('are those of the account, as its people may see them', async () => {
    known = [location(1), undefined, location(2, '1km'), location(3, 'none')]
    const { body } = await fixes(`?nodes=${node(1)},${node(2)}`)
    expect(asked).toEqual([['a@tenant', [node(1), node(2)]]])
    expect(body).toEqual([
      {
        ...{ nodeId: node(1), longitude: 12.3456789, latitude: -45.6789123, speed: 3, bearing: 90 },
        fixedAt: '1970-01-01T00:00:01.000Z',
      },
      expect.objectContaining({ nodeId: node(2), speed: 0, bearing: 0 }),
    ])
    expect((body as { longitude: number }[])[1]!.longitude).not.toBe(12.3456789)
  })

  it('are of 500 nodes at most, and of no name that no node has', async () => {
    await fixes(`?nodes=${'x,'.repeat(499)}${node(1)},${node(2)}`)
    expect(asked).toEqual([['a@tenant', [node(1)]]])
  })

  it.each(['', '?nodes=a&nodes=b'])('need one list of nodes: %j', async (query) => {
    expect(await fixes(query)).toEqual({
      status: 400,
      body: { error: 'invalid_request', error_description: 'name at most 500 nodes: ?nodes=<id>,<id>' },
    })
  })
})

it('the places of an account have a metre and a second, without nodes that do not share theirs', async () => {
  known = [location(1), location(2, 'none')]
  const { body } = await get(discoveryPaths.accountPlaces)
  expect(body).toEqual([[node(1), 12.34568, -45.67891, 2]])
  expect(asked).toEqual(['a@tenant'])
})

describe('a stream of an account', () => {
  async function open() {
    const response = await fetch(url + discoveryPaths.accountStream, { headers })
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    return {
      /** Text of the stream, until it has a part, or until it ends. */
      async until(part?: string) {
        while (part === undefined || !text.includes(part)) {
          const { done, value } = await reader.read()
          if (done) return text
          text += value
        }
        return text
      },
      cancel: () => reader.cancel(),
    }
  }

  it('has each new fix that people of the account may see', async () => {
    const stream = await open()
    await expect.poll(() => watchers.has('a@tenant')).toBe(true)
    const send = watchers.get('a@tenant')!
    send(location(1, 'none'))
    send(location(2))
    const text = await stream.until(node(2))
    expect(text).not.toContain(node(1))
    await stream.cancel()
    await expect.poll(() => watchers.size).toBe(0)
  })

  it('ends when its token is revoked, and not when another one is', async () => {
    const stream = await open()
    await expect.poll(() => watchers.has('a@tenant')).toBe(true)
    revoked(undefined)
    watchers.get('a@tenant')!(location(1))
    await stream.until(node(1))
    revoked('its account was revoked')
    const text = await stream.until()
    expect(text).toContain('token_revoked')
    expect(text).toContain('its account was revoked')
    await expect.poll(() => watchers.size).toBe(0)
  })

  it('ends when its token expires, a minute late at most', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: now * 1000 })
    const stream = await open()
    vi.advanceTimersByTime(119_000)
    watchers.get('a@tenant')!(location(1))
    expect(await stream.until(node(1))).not.toContain('token_expired')
    vi.advanceTimersByTime(2000)
    const text = await stream.until()
    expect(text).toContain('token_expired')
    expect(text).toContain('the token of the stream expired')
    expect(watchers.size).toBe(0)
  })
})
