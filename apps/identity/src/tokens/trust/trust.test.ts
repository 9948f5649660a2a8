/** Which issuers a service trusts: itself alone, or those that it names, by their keys and their lists. */

import { generateKeyPairSync } from 'node:crypto'
import { createNetwork } from '@selvedge/client/node'
import { edgeIdProfile } from '@selvedge/protocol/tokens'
import { systemClock } from '@selvedge/service-kit/clock'
import { createMemoryLog, openMemoryStore } from '@selvedge/service-kit/testing'
import { signJws } from '@selvedge/service-kit/tokens'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type ListedIssuer, startListedIssuer } from '../../../../../tests/harness/listed-issuer.ts'
import { migrations } from '../../storage/schema.ts'
import { openTrust, type Trust } from './trust.ts'

const own = 'https://own.example'
const ownKey = generateKeyPairSync('ec', { namedCurve: 'P-256' })
let store: ReturnType<typeof openMemoryStore>
let foreign: ListedIssuer
let other: ListedIssuer
let opened: Trust[]
let opens: string[]

beforeEach(async () => {
  store = openMemoryStore(migrations)
  foreign = await startListedIssuer(systemClock)
  other = await startListedIssuer(systemClock)
  opened = []
  opens = []
})
afterEach(async () => {
  for (const trust of opened) await trust.stop()
  await foreign.stop()
  await other.stop()
  await store.close()
})

async function open(
  role: 'both' | 'cloud' | 'tenant' = 'both',
  { edges = [foreign.url], tenants = [] as string[], maxAge = 60, ownUrl = own } = {},
) {
  const trust = await openTrust({
    ownIssuer: () => ownUrl,
    keys: {
      asIssuer(issuer) {
        opens.push(issuer)
        return { issuer, findKey: (kid) => (kid === 'own' ? ownKey.publicKey : undefined) }
      },
    },
    config: {
      ...{ role, trustedEdgeIssuers: edges, trustedTenants: tenants },
      ...{ 'revocations.interval': 3600, 'revocations.maxAge': maxAge },
    },
    ...{ store, clock: systemClock, log: createMemoryLog(), network: createNetwork({ env: {} }) },
  })
  opened.push(trust)
  return trust
}
const nodeId = 'ab'.repeat(28)
const edge = (from: ListedIssuer, more: object = {}) =>
  from.sign('edge-id+jwt', {
    ...{ aud: own, azp: nodeId, node_id: nodeId, node_name: 'n', cnf: { jkt: 'key' }, ...more },
  })
const claimsOf = (from: ListedIssuer, more: object = {}) =>
  ({ iss: from.url, jti: 'jti', iat: systemClock.now() / 1000, ...more }) as never

it('a token of a trusted issuer is verified with the keys that it publishes, and no other token', async () => {
  const trust = await open()
  const verifier = trust.verifierOf([foreign.url])
  expect(await verifier.verify(edge(foreign), edgeIdProfile, own)).toMatchObject({ iss: foreign.url })
  await expect(async () => verifier.verify(edge(other), edgeIdProfile, own)).rejects.toMatchObject({
    reason: 'token_untrusted',
  })
  await expect(async () =>
    verifier.verify(edge(other, { iss: foreign.url }), edgeIdProfile, own),
  ).rejects.toBeDefined()
  await expect(async () =>
    trust.verifierOf([other.url]).verify(edge(foreign), edgeIdProfile, own),
  ).rejects.toBeDefined()
  expect(opens).toEqual([])
})

it('without a list of issuers a verifier trusts this service alone, by its own keys', async () => {
  const trust = await open()
  const verifier = trust.verifierOf([])
  await expect(async () => verifier.verify(edge(foreign), edgeIdProfile, own)).rejects.toMatchObject({
    reason: 'token_untrusted',
  })
  await expect(async () =>
    verifier.verify(edge(foreign, { iss: own }), edgeIdProfile, own),
  ).rejects.toBeDefined()
  await expect(async () =>
    trust.verifierOf([own]).verify(edge(foreign, { iss: own }), edgeIdProfile, own),
  ).rejects.toBeDefined()
  expect(opens).toEqual([own])
})

it('a token of this service is genuine by its own key', async () => {
  const trust = await open()
  const iat = Math.floor(systemClock.now() / 1000)
  const claims = {
    ...{ iss: own, aud: own, sub: 'a', jti: 'jti', iat, exp: iat + 600 },
    ...{ azp: nodeId, node_id: nodeId, node_name: 'n', cnf: { jkt: 'key' } },
  }
  const token = signJws({ typ: 'edge-id+jwt', kid: 'own' }, claims, ownKey.privateKey)
  for (const issuers of [[], [own], [foreign.url, own]])
    expect(await trust.verifierOf(issuers).verify(token, edgeIdProfile, own)).toMatchObject({ iss: own })
  await expect(async () =>
    trust.verifierOf([foreign.url]).verify(token, edgeIdProfile, own),
  ).rejects.toMatchObject({ reason: 'token_untrusted' })
})

it('what another issuer revoked is revoked here, as soon as its list was fetched', async () => {
  foreign.revoke('jti')
  const trust = await open()
  expect(await trust.foreignReasonAgainst(claimsOf(foreign))).toEqual(expect.any(String))
  expect(await trust.foreignReasonAgainst(claimsOf(foreign, { jti: 'another' }))).toBeUndefined()
})

it('nothing is decided about a token while the list of its issuer is too old', async () => {
  foreign.state.isAway = true
  const trust = await open()
  await expect(trust.foreignReasonAgainst(claimsOf(foreign))).rejects.toMatchObject({
    code: 'temporarily_unavailable',
    message: expect.stringContaining(foreign.url),
  })
  foreign.state.isAway = false
  expect(await trust.foreignReasonAgainst(claimsOf(foreign))).toBeUndefined()
})

it('the own revocations are not in a list: the registry decides', async () => {
  foreign.state.isAway = true
  const trust = await open()
  expect(await trust.foreignReasonAgainst({ iss: own, jti: 'jti' } as never)).toBeUndefined()
})

it('lists are fetched of the issuers that the role of the service needs, each once', async () => {
  const lists = async (...of: Parameters<typeof open>) => {
    foreign.state.lists = 0
    other.state.lists = 0
    const trust = await open(...of)
    trust.start()
    const needed = () => [foreign.state.lists > 0, other.state.lists > 0]
    return { trust, needed }
  }
  const both = { edges: [foreign.url], tenants: [foreign.url, other.url] }
  const all = await lists('both', both)
  await expect.poll(all.needed).toEqual([true, true])
  expect(foreign.state.lists).toBe(1)
  await all.trust.stop()
  const cloud = await lists('cloud', { edges: [foreign.url], tenants: [other.url] })
  await expect.poll(cloud.needed).toEqual([false, true])
  await cloud.trust.stop()
  const tenant = await lists('tenant', { edges: [foreign.url], tenants: [other.url] })
  await expect.poll(tenant.needed).toEqual([true, false])
})

it('the list of this service itself is not fetched, where it names itself beside others', async () => {
  const trust = await open('both', { edges: [foreign.url, other.url], ownUrl: foreign.url })
  trust.start()
  await expect.poll(() => other.state.lists).toBe(1)
  expect(foreign.state.lists).toBe(0)
})

it('a service that trusts itself alone fetches no list', async () => {
  const trust = await open('both', { edges: [own], tenants: [own] })
  trust.start()
  expect(await trust.foreignReasonAgainst({ iss: own, jti: 'jti' } as never)).toBeUndefined()
  expect([foreign.state.lists, other.state.lists]).toEqual([0, 0])
})
