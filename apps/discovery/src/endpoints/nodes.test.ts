/** What a node may read of others, by the precision that they allow: the track, which is exact, and the list of the account. */
import { discoveryPaths, OAuthError, type Precision } from '@selvedge/protocol'
import { createHttpApp } from '@selvedge/service-kit/http-app'
import { createLog } from '@selvedge/service-kit/log'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { addNodesEndpoints } from './nodes.ts'

const ids = { asker: 'a'.repeat(56), other: 'b'.repeat(56), foreign: 'c'.repeat(56) }
const accountOf = (nodeId: string) => (nodeId === ids.foreign ? 'account-2' : 'account-1')
const clock = createFakeClock()
/** The precision that a node allows its account; undefined: no location of it is known. */
let precisions: Record<string, Precision | undefined>
let trackUntil: number
/** Whether the registry has the nodes. */
let registered: boolean
let app: ReturnType<typeof createHttpApp>
beforeEach(() => {
  trackUntil = clock.now() + 60_000
  registered = true
  precisions = { [ids.asker]: 'exact', [ids.other]: 'exact', [ids.foreign]: 'exact' }
  app = createHttpApp(
    createLog({ service: 'discovery', level: 'error', now: Date.now }, () => undefined),
    1024,
    {
      vital: [],
    },
  )
  addNodesEndpoints(app, {
    clock,
    silence: 300_000,
    registry: {
      find: async (accountId: string, asked: readonly string[]) =>
        asked.map((nodeId) => (registered && accountOf(nodeId) === accountId ? nodeWith(nodeId) : undefined)),
      page: async (accountId: string) =>
        Object.values(ids)
          .filter((nodeId) => accountOf(nodeId) === accountId)
          .map(nodeWith),
    } as never,
    store: {
      last: async (accountId: string, asked: readonly string[]) =>
        asked.map((nodeId) =>
          accountOf(nodeId) === accountId && precisions[nodeId] ? locationOf(nodeId) : undefined,
        ),
    } as never,
    tracks: { of: async () => [{ longitude: 13.123456, latitude: 52.123456, fixedAt: 1 }] } as never,
    sessions: {
      nodeOf({ authorization }: { authorization?: string }) {
        if (authorization !== 'asker') throw new OAuthError('invalid_token', 'begin a session')
        return { nodeId: ids.asker, accountId: 'account-1' }
      },
    } as never,
  })
})
afterEach(() => app.close())

const nodeWith = (nodeId: string) => ({
  nodeId,
  nodeName: 'n',
  accountId: accountOf(nodeId),
  addresses: [],
  services: [],
  heardAt: clock.now(),
  trackUntil,
})
const locationOf = (nodeId: string) => ({
  ...nodeWith(nodeId),
  longitude: 13.123456,
  latitude: 52.123456,
  speed: 7,
  bearing: 8,
  accuracy: 9,
  fixedAt: clock.now(),
  receivedAt: clock.now(),
  source: 'api',
  suspect: false,
  sharing: { account: precisions[nodeId], others: 'none' },
})

async function ask(url: string, authorization = 'asker') {
  const { statusCode, body } = await app.inject({ url, headers: { authorization } })
  return { status: statusCode, text: body, body: JSON.parse(body) }
}
const track = (nodeId: string) => ask(discoveryPaths.trackOf(nodeId))

describe('the track of a node', () => {
  it.each<[precision: Precision | undefined, status: number]>([
    ['exact', 200],
    ['1km', 404],
    ['city', 404],
    ['none', 404],
    [undefined, 404],
  ])(
    'that allows its account the precision %s is read by another node of the account: %d',
    async (precision, status) => {
      precisions[ids.other] = precision
      const answer = await track(ids.other)
      expect(answer.status).toBe(status)
      if (status === 404) expect(answer.text).not.toMatch(/13\.|52\./)
      else expect(answer.body.data).toEqual([[13.123456, 52.123456, 1]])
    },
  )

  it('is read by the node itself, whatever it allows its account', async () => {
    precisions[ids.asker] = 'none'
    expect((await track(ids.asker)).body.data).toHaveLength(1)
  })

  it('is read by no node of another account', async () => {
    expect((await track(ids.foreign)).status).toBe(404)
  })

  it('is empty after its end', async () => {
    trackUntil = clock.now()
    expect((await track(ids.other)).body).toMatchObject({ data: [], until: null })
  })

  it('is not found if the registry has no such node', async () => {
    registered = false
    expect((await track(ids.other)).status).toBe(404)
  })

  it('is read by no caller without a session', async () => {
    expect((await ask(discoveryPaths.trackOf(ids.other), 'none')).status).toBe(401)
  })
})

it('the list of an account shows each node as exactly as the node allows, and no node of another account', async () => {
  precisions[ids.other] = 'city'
  const { body, text } = await ask(`${discoveryPaths.nodes}?cluster=account`)
  const [own, other] = body.data
  expect(body.data).toHaveLength(2)
  expect(own.fix).toMatchObject({ longitude: 13.123456, precision: 'exact', speed: 7 })
  expect(other.fix).toMatchObject({ precision: 'city', speed: null, bearing: null, accuracy: null })
  expect(String(other.fix.longitude)).not.toContain('13.12')
  expect(text).not.toContain(ids.foreign)
})

it('a node with too many requests has to wait', async () => {
  const statuses: number[] = []
  for (let at = 0; at < 70; at++) statuses.push((await track(ids.asker)).status)
  expect(statuses.indexOf(429)).toBeGreaterThanOrEqual(60)
  expect((await ask(`${discoveryPaths.nodes}?cluster=account`)).status).toBe(429)
})
