import { generateKeyPairSync } from 'node:crypto'
import type { IdentityClient } from '@selvedge/client'
import { identityPaths } from '@selvedge/protocol'
import {
  type DeviceVitals,
  maxStatedServices,
  parseJws,
  publicJwk,
  timeAudience,
} from '@selvedge/protocol/tokens'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { signJws } from '@selvedge/service-kit/tokens'
import { describe, expect, it } from 'vitest'
import { fitVitals } from '../vitals/fit.ts'
import { createEdgeTokenRequest, type EdgeTokenRequestParts } from './edge-token-request.ts'
import { statedServices } from './stated-services.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = publicJwk.parse(publicKey.export({ format: 'jwk' }))
const vitals = (count: number): DeviceVitals => ({
  ...{ arch: 'x64', addresses: [], uptimeSeconds: 1, cores: 1, load: 0, disk: null, clock: 'held' },
  ...{ memory: { usedBytes: 1, totalBytes: 2 }, revocationsAgeSeconds: null, notices: [] },
  services: Array(count).fill({ id: 'x'.repeat(128), restarts: 1, lastEnd: 'out_of_memory' }),
})

/** The claims of the proof that a request sends, and its length in characters. */
async function proofOf(
  node: { services: number; account?: { id: string; access_token: string } },
  stated: EdgeTokenRequestParts['vitals'],
) {
  let proof = ''
  const client = {
    edgeToken: async (prove: (nonce: string | undefined) => string) => {
      proof = prove('n'.repeat(30))
      return {}
    },
  } as unknown as IdentityClient
  const request = createEdgeTokenRequest({
    key: { signing: { privateKey, jwk } } as never,
    ...{
      nodeId: 'n',
      issuer: {} as never,
      state: {} as never,
      learned: {} as never,
      client,
      log: createMemoryLog(),
    },
    url: 'https://identity.example',
    clock: { ...createFakeClock(), monotonic: () => 0 } as never,
    link: { succeeded: () => undefined } as never,
    vitals: stated,
  })
  const service = { id: 'i'.repeat(100), name: 'n'.repeat(64), image: 'm'.repeat(255), state: 'running' }
  await request({
    name: 'pump',
    hmac_key: jwk,
    services: statedServices(Array(node.services).fill(service)),
    ...(node.account && { account: node.account }),
  })
  return { payload: parseJws(proof).payload, length: proof.length }
}

it('states what fits beside the registration, in a proof that the identity service reads', async () => {
  const room: number[] = []
  const state = async (roomBytes: number) => {
    room.push(roomBytes)
    return fitVitals(vitals(20), Math.min(roomBytes, 3000))
  }
  const account = { id: 'a', access_token: 't'.repeat(1000) }
  for (const services of [0, 3, maxStatedServices])
    for (const node of [{ services }, { services, account }]) {
      const { payload, length } = await proofOf(node, state)
      expect(length).toBeLessThanOrEqual(8192)
      expect(payload.node).toMatchObject({ name: 'pump' })
    }
  expect(room[0]).toBeGreaterThan(3000)
  expect(room.at(-1)).toBeLessThan(room[0]!)
})

it('states that it withdraws its vitals, or does not mention it', async () => {
  expect((await proofOf({ services: 0 }, async () => null)).payload).toHaveProperty('vitals', null)
  expect((await proofOf({ services: 0 }, async () => undefined)).payload).not.toHaveProperty('vitals')
})

describe('an answer', () => {
  const issuerKey = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const identity = 'https://identity.example'
  const nodeId = 'ab'.repeat(28)
  const time = Date.parse('2026-01-01T00:00:00Z')
  const uses = [{ jti: 'lease' }] as never

  interface Asked {
    readonly payload: Record<string, unknown>
    readonly signal: AbortSignal
  }

  /** Sends a request, which is answered with a signed time. @param change of its claims; undefined: the answer has no time */
  async function ask(change: object | undefined, { key = issuerKey, isFull = false, hasUses = true } = {}) {
    let monotonic = 100
    const seen = {
      learned: [] as unknown[],
      states: [] as object[],
      reported: [] as unknown[],
      successes: 0,
      log: createMemoryLog(),
    }
    let asked: Asked | undefined
    const answer = async (
      prove: (nonce: string | undefined) => string,
      { signal }: { signal: AbortSignal },
    ) => {
      const { payload } = parseJws(prove('nonce'))
      asked = { payload, signal }
      monotonic = 150
      if (change === undefined) return { edge_token: 'x' }
      const claims = {
        ...{ iss: identity, sub: nodeId, aud: timeAudience, iat: 0, exp: 60, jti: 'j', time },
        ...{ nonce: (payload.node as { time_nonce: string }).time_nonce, ...change },
      }
      return { edge_token: 'x', time_token: signJws({ typ: 'time+jwt', kid: 'k' }, claims, key.privateKey) }
    }
    const request = createEdgeTokenRequest({
      ...{ key: { signing: { privateKey, jwk } } as never, nodeId, url: identity, log: seen.log },
      issuer: { issuer: identity, findKey: (kid) => (kid === 'k' ? issuerKey.publicKey : undefined) },
      state: { value: { timeFloor: 0 } } as never,
      learned: {
        learn: (_: string, change: (value: object) => object) => void seen.states.push(change({ name: 'n' })),
      } as never,
      client: { edgeToken: answer } as never,
      clock: {
        ...createFakeClock(),
        monotonic: () => monotonic,
        learn: (...of: unknown[]) => void seen.learned.push(of),
      } as never,
      link: { succeeded: () => void seen.successes++ } as never,
      vitals: async () => undefined,
      leases: () => ({
        unreported: () => (hasUses ? uses : undefined),
        async reported(of) {
          seen.reported.push(of)
          if (isFull) throw new Error('the disk is full')
        },
      }),
    })
    return { answer: await request({ name: 'pump' } as never), asked: asked!, ...seen }
  }

  it('with a time for this question sets the clock, and the time from which it starts next', async () => {
    const { answer, learned, states, successes, log } = await ask({})
    expect(answer).toMatchObject({ edge_token: 'x' })
    expect(learned).toEqual([[time, { sentAt: 100, answeredAt: 150 }]])
    expect(states).toEqual([{ name: 'n', timeFloor: createFakeClock().now() }])
    expect([successes, log.lines]).toEqual([1, []])
  })

  it.each<[string, object, { key?: typeof issuerKey }?]>([
    ['for another question', { nonce: 'another' }],
    ['for another device', { sub: 'cd'.repeat(28) }],
    ['of another issuer', { iss: 'https://evil.example' }],
    ['that is signed with another key', {}, { key: generateKeyPairSync('ec', { namedCurve: 'P-256' }) }],
  ])('with a time %s does not set the clock, and is used all the same', async (_, change, options) => {
    const { answer, learned, states, log } = await ask(change, options)
    expect(answer).toMatchObject({ edge_token: 'x' })
    expect([learned, states]).toEqual([[], []])
    expect(JSON.parse(log.lines[0]!)).toMatchObject({
      message: 'the time of the identity service is not believed',
      cause: { name: 'TokenError' },
    })
  })

  it('without a time sets nothing', async () => {
    const { learned, states, log } = await ask(undefined)
    expect([learned, states, log.lines]).toEqual([[], [], []])
  })

  it('confirms what was reported of leases, and a failure to note it costs no token', async () => {
    const { asked, reported } = await ask(undefined)
    expect([asked.payload.leases, reported]).toEqual([uses, [uses]])
    const { answer, log } = await ask(undefined, { isFull: true })
    expect(answer).toMatchObject({ edge_token: 'x' })
    expect(JSON.parse(log.lines[0]!)).toMatchObject({
      message: 'the record of leases could not be changed',
      cause: { message: 'the disk is full' },
    })
    expect((await ask(undefined, { hasUses: false })).reported).toEqual([])
  })

  it('belongs to a proof of the key for this request, with a question of its own', async () => {
    const [one, other] = [await ask(undefined), await ask(undefined)]
    expect(one.asked.payload).toMatchObject({
      ...{ htm: 'POST', htu: `${identity}${identityPaths.edgeToken}`, nonce: 'nonce' },
      node: { name: 'pump', time_nonce: expect.stringMatching(/^[\da-f-]{36}$/) },
    })
    expect(other.asked.payload.node).not.toEqual(one.asked.payload.node)
    expect(one.asked.signal.aborted).toBe(false)
  })
})

it('a failed request is not a sign of the service, and leaves what is to be reported', async () => {
  const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const happened: string[] = []
  const request = createEdgeTokenRequest({
    ...{ key: { signing: { privateKey: key, jwk } } as never, nodeId: 'n', url: 'https://identity.example' },
    ...{ issuer: {} as never, state: {} as never, learned: {} as never, log: createMemoryLog() },
    client: { edgeToken: () => Promise.reject(new Error('refused')) } as never,
    clock: { ...createFakeClock(), monotonic: () => 0 } as never,
    link: { succeeded: () => void happened.push('succeeded') } as never,
    vitals: async () => undefined,
    leases: () => ({
      unreported: () => [] as never,
      reported: async () => void happened.push('reported'),
    }),
  })
  await expect(request({ name: 'pump' } as never)).rejects.toThrow('refused')
  expect(happened).toEqual([])
})

describe('the services that a device states', () => {
  const service = (name: string, more: object = {}) =>
    ({ id: name, name, image: 'i', state: 'running', ...more }) as never

  it('are the first ones, with shortened names', () => {
    const long = service('x'.repeat(300), { image: 'y'.repeat(300) })
    expect(statedServices([long])).toEqual([
      { id: 'x'.repeat(128), name: 'x'.repeat(64), image: 'y'.repeat(255), state: 'running' },
    ])
    const many = Array.from({ length: maxStatedServices + 1 }, (_, at) => service(String(at)))
    expect(statedServices(many)).toHaveLength(maxStatedServices)
  })

  it('have room in 4000 characters of JSON', () => {
    const bytes = JSON.stringify(service('a')).length
    const of = (length: number) => service('a', { image: 'i'.repeat(1 + length - bytes) })
    const all = [...Array(15).fill(of(260)), of(100)]
    expect(statedServices(all)).toHaveLength(16)
    expect(statedServices([...all.slice(0, 15), of(101)])).toHaveLength(15)
  })
})
