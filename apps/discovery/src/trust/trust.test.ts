/** Which tokens the discovery service trusts: of nodes from issuers of edge ID tokens, of people from tenants, unless they were revoked. */

import { createNetwork } from '@selvedge/client/node'
import { accessProfile, edgeIdProfile } from '@selvedge/protocol/tokens'
import { systemClock } from '@selvedge/service-kit/clock'
import { createMemoryLog, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type ListedIssuer, startListedIssuer } from '../../../../tests/harness/listed-issuer.ts'
import { migrations } from '../schema.ts'
import { openTrust, type Trust } from './trust.ts'

let store: ReturnType<typeof openMemoryStore>
let edges: ListedIssuer
let tenant: ListedIssuer
let stranger: ListedIssuer
let trust: Trust

beforeEach(async () => {
  store = openMemoryStore(migrations)
  edges = await startListedIssuer(systemClock)
  tenant = await startListedIssuer(systemClock)
  stranger = await startListedIssuer(systemClock)
  trust = await openTrust(
    {
      ...{ 'identity.url': tenant.url, trustedTenants: [tenant.url] },
      trustedEdgeIssuers: [`${edges.url}=${tenant.url}`],
      ...{ 'revocations.interval': 3600, 'revocations.maxAge': 60 },
    },
    store,
    { clock: systemClock, log: createMemoryLog(), network: createNetwork({ env: {} }) },
  )
})
afterEach(async () => {
  await trust.stop()
  for (const each of [edges, tenant, stranger]) await each.stop()
  await store.close()
})

const nodeId = 'ab'.repeat(28)
const edge = (from: ListedIssuer, more: object = {}) =>
  from.sign('edge-id+jwt', {
    ...{ aud: 'us', azp: nodeId, node_id: nodeId, node_name: 'n', cnf: { jkt: 'key' }, ...more },
  })
const access = (from: ListedIssuer, more: object = {}) =>
  from.sign('at+jwt', {
    ...{ aud: 'us', azp: 'c', client_id: 'c', account_id: 'a', node_id: nodeId, scope: 'openid', ...more },
  })
const claimsOf = (from: ListedIssuer, jti = 'jti') =>
  ({ iss: from.url, jti, iat: systemClock.now() / 1000 }) as never

it('a node is believed with a token of an issuer of edge ID tokens, and of no tenant or stranger', async () => {
  const { edgeVerifier } = trust
  expect(await edgeVerifier.verify(edge(edges), edgeIdProfile, 'us')).toMatchObject({ node_id: nodeId })
  for (const other of [tenant, stranger])
    await expect(async () => edgeVerifier.verify(edge(other), edgeIdProfile, 'us')).rejects.toMatchObject({
      reason: 'token_untrusted',
    })
  await expect(async () =>
    edgeVerifier.verify(edge(stranger, { iss: edges.url }), edgeIdProfile, 'us'),
  ).rejects.toBeDefined()
})

it('a caller is believed with a token of a tenant, and of no other issuer', async () => {
  const { tenantVerifier } = trust
  const token = access(tenant)
  for (let time = 0; time < 2; time++)
    expect(await tenantVerifier.verify(token, accessProfile, 'us')).toMatchObject({ account_id: 'a' })
  for (const other of [edges, stranger])
    await expect(async () => tenantVerifier.verify(access(other), accessProfile, 'us')).rejects.toMatchObject(
      {
        reason: 'token_untrusted',
      },
    )
})

it('accounts are known by their tenant, and issuers of edge ID tokens speak for it', () => {
  expect(trust.realms.tenants).toEqual([tenant.url])
  expect(trust.realms.edgeIssuers).toEqual([edges.url])
  expect(trust.realms.ofEdgeIssuer(edges.url, 'a')).toBe(trust.realms.ofTenant(tenant.url, 'a'))
})

it('the lists of all issuers are fetched, and what is in them is revoked', async () => {
  edges.revoke('of-edges')
  tenant.revoke('of-tenant')
  expect(trust.revokedReason(claimsOf(tenant, 'of-tenant'))).toBeUndefined()
  let isNotified = false
  trust.onRevocation(() => {
    isNotified = true
  })
  trust.start()
  await expect.poll(() => [edges.state.lists, tenant.state.lists, stranger.state.lists]).toEqual([1, 1, 0])
  expect(await trust.reasonAgainst(claimsOf(edges, 'of-edges'))).toEqual(expect.any(String))
  expect(await trust.reasonAgainst(claimsOf(tenant, 'of-tenant'))).toEqual(expect.any(String))
  // Each issuer revokes its own tokens alone.
  expect(await trust.reasonAgainst(claimsOf(tenant, 'of-edges'))).toBeUndefined()
  expect(trust.revokedReason(claimsOf(tenant, 'of-tenant'))).toEqual(expect.any(String))
  expect(isNotified).toBe(true)
})

it('nothing is decided about a token while the list of its issuer was never fetched', async () => {
  tenant.state.isAway = true
  await expect(trust.reasonAgainst(claimsOf(tenant))).rejects.toMatchObject({
    code: 'temporarily_unavailable',
  })
})
