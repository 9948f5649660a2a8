import { discoveryAudience, type NodeStatement } from '@selvedge/protocol/tokens'
import { seconds } from '@selvedge/service-kit/clock'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { describe, expect, it } from 'vitest'
import type { Node } from '../../registry/nodes/nodes.ts'
import { audiencesOf, createEdgeMint } from './mint-edge.ts'

const clock = createFakeClock()
clock.advance(999)
const now = seconds(clock)
const asked: string[] = []
const mint = createEdgeMint({
  clock,
  keys: { sign: (typ: string, claims: object) => JSON.stringify({ typ, ...claims }) } as never,
  issuer: () => 'https://identity.example',
  nodes: { accountKeyEpoch: async (accountId) => asked.push(accountId) + 6 },
  lifetimeSeconds: 600,
  audiences: () => ['https://a.example', 'https://b.example'],
})
const node = { nodeId: 'n', name: 'pump', accountId: 'a' } as Node
const tokenFor = async (audience: string | string[]) =>
  JSON.parse(await mint.idToken({ node, audience, jkt: 'key', epoch: 5 }))

describe('an edge ID token', () => {
  it('names the node, its account and its key, for the audience that was asked for', async () => {
    const { jti, ...claims } = await tokenFor(['https://a.example'])
    expect(claims).toEqual({
      ...{
        typ: 'edge-id+jwt',
        iss: 'https://identity.example',
        sub: 'a',
        aud: ['https://a.example'],
        azp: 'n',
      },
      ...{ node_id: 'n', node_name: 'pump', iat: now, exp: now + 600, epoch: 5, cnf: { jkt: 'key' } },
    })
    expect((await tokenFor('x')).jti).not.toBe(jti)
    expect(asked).toEqual([])
    expect(mint.lifetimeSeconds).toBe(600)
  })

  it('for the discovery service has the number of the key of the account', async () => {
    expect(await tokenFor(discoveryAudience)).toMatchObject({ aud: discoveryAudience, account_epoch: 7 })
    expect(asked).toEqual(['a'])
  })

  it('is for all tenants, or for the discovery service, and for nothing else', () => {
    const audienceOf = (audience?: string) => mint.audienceOf({ audience } as NodeStatement)
    expect(audienceOf()).toEqual(['https://a.example', 'https://b.example'])
    expect(audienceOf(discoveryAudience)).toBe(discoveryAudience)
    expect(() => audienceOf('https://a.example')).toThrow(expect.objectContaining({ code: 'invalid_target' }))
  })

  it('is for the tenant of the service itself, unless others are configured', () => {
    expect(audiencesOf([], 'https://own.example')).toEqual(['https://own.example'])
    expect(audiencesOf(['https://a.example'], 'https://own.example')).toEqual(['https://a.example'])
  })
})

describe('the time', () => {
  it('is signed for the nonce of the node, if it sent one', () => {
    expect(mint.timeFor('n', {} as NodeStatement)).toEqual({ time: clock.now() })
    const { time, time_token } = mint.timeFor('n', { time_nonce: 'nonce' } as NodeStatement)
    expect(time).toBe(clock.now())
    const { jti, exp, ...claims } = JSON.parse(time_token!)
    expect(claims).toEqual({
      ...{ typ: 'time+jwt', iss: 'https://identity.example', sub: 'n', aud: 'urn:selvedge:time', iat: now },
      ...{ nonce: 'nonce', time: clock.now() },
    })
    expect(exp).toBeGreaterThan(now)
    expect(jti).toMatch(/^[\da-f-]{36}$/)
  })
})
