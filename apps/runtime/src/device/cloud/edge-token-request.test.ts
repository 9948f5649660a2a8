import { generateKeyPairSync } from 'node:crypto'
import type { IdentityClient } from '@selvedge/client'
import { type DeviceVitals, maxStatedServices, parseJws, publicJwk } from '@selvedge/protocol/tokens'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
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
    ...{ nodeId: 'n', issuer: {} as never, state: {} as never, client, log: createMemoryLog() },
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
