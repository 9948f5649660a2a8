/** Leases of people who signed in to an app: beside the refresh token, for a service for users, and no longer than the share. */
import { type ProofKey as ClientKey, exchangeLease } from '@selvedge/client'
import { readUser } from '@selvedge/client/function'
import { leaseProfile, nodeUrn } from '@selvedge/protocol/tokens'
import * as jose from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { adminOf } from '../../harness/flow.ts'
import { createProofKey, type ProofKey } from '../../harness/oauth.ts'
import { startProgram } from '../../harness/processes.ts'
import { type Called, type Person, type Sharing, startSharing } from '../../harness/sharing.ts'

let world: Sharing
const key = createProofKey()
let again: Awaited<ReturnType<typeof startProgram>> | undefined

beforeAll(async () => {
  world = await startSharing({})
  const { clientId } = world.app
  await adminOf(world.services.stack.state)['project.offline']({ clientId, maxDays: 30, scopes: ['openid'] })
})
afterAll(async () => {
  await again?.stop()
  await world?.stop()
})

const clientKey = (of: ProofKey): ClientKey =>
  ({
    prove: async ({ method, url, nonce }: { method: string; url: string; nonce?: string }) =>
      of.prove({ htm: method, htu: url, nonce }),
  }) as unknown as ClientKey

/** A local token for a lease. */
async function localToken(lease: string, of = key): Promise<string> {
  const { offline } = await world.services.runtime().getMe()
  const { tokenEndpoint } = offline
  const answer = await exchangeLease(
    { url: world.services.url() },
    { lease, key: clientKey(of), tokenEndpoint },
  )
  return answer.access_token
}

/** Calls a service with a token that is bound to the key. */
async function call(service: string, accessToken: string): Promise<Called> {
  const path = `/${world.app.clientId}/${service}/`
  const htu = world.services.url() + path
  const send = (nonce?: string) =>
    world.services.call(path, {
      token: null,
      headers: {
        Authorization: `DPoP ${accessToken}`,
        DPoP: key.prove({ htm: 'GET', htu, nonce, accessToken }),
      },
    })
  const { headers } = await send()
  const { status, text } = await send(headers['dpop-nonce'] as string)
  const body = text.startsWith('{') ? JSON.parse(text) : {}
  return { status, text, ...(body.error ? { reason: body.error.reason } : body) }
}

const signIn = async (person: Person) => (await world.signIn(person, {}, key)).body as Record<string, string>
const reasonOf = (lease: string) =>
  localToken(lease).then(
    () => 'accepted',
    ({ message }) => String(message),
  )

const leases: Record<string, string> = {}
let shareId: string
let removed: string

it('a sign-in to an app gives a lease of the person beside the refresh token, at each refresh again', async () => {
  const body = await signIn(world.owner)
  expect(body).toMatchObject({
    token_type: 'DPoP',
    lease: expect.any(String),
    refresh_token: expect.any(String),
  })
  const lease = jose.decodeJwt(body.lease!)
  expect(jose.decodeProtectedHeader(body.lease!).typ).toBe(leaseProfile.typ)
  expect(lease).toMatchObject({
    sub: world.owner.personId,
    account_id: world.owner.accountId,
    aud: nodeUrn(world.nodeId),
    scope: 'openid',
    sid: jose.decodeJwt(body.access_token!).sid,
    cnf: { jkt: key.jkt },
    user: { name: world.owner.email, groups: [] },
  })
  leases.owner = (await world.refresh(body.refresh_token!, key)).body.lease!
  expect(jose.decodeJwt(leases.owner)).toMatchObject({ sub: world.owner.personId, sid: lease.sid })
})

it('no lease is given without a refresh token, without a node, or without a key', async () => {
  expect((await world.signIn(world.owner, { scope: 'openid' }, key)).body).not.toHaveProperty('lease')
  expect((await world.signIn(world.owner, { edge_id_token: undefined }, key)).body).not.toHaveProperty(
    'lease',
  )
  expect((await world.signIn(world.owner)).body).not.toHaveProperty('lease')
})

it('a person of another account gets one with the shares, and nothing else', async () => {
  ;({ shareId } = await world.share('van', world.guest.personId))
  removed = (await world.share('crane', world.guest.personId)).shareId
  leases.guest = (await signIn(world.guest)).lease!
  expect(jose.decodeJwt(leases.guest)).toMatchObject({
    sub: world.guest.personId,
    account_id: world.guest.accountId,
    shares: {
      account_id: world.owner.accountId,
      services: expect.arrayContaining([expect.objectContaining({ id: shareId, service: 'van' })]),
    },
  })
})

it('while the cloud is there, the device refuses both and the removed share is learned', async () => {
  for (const lease of [leases.owner!, leases.guest!])
    expect(await reasonOf(lease)).toContain('reaches the identity service')
  await world.owner.console.api['share.remove']({ shareId: removed })
  await world.newList()
})

it('without the cloud, both get in with local tokens, the guest to what is still shared', async () => {
  await world.services.stack.identity.stop('SIGKILL')
  await world.services.stack.discovery.stop('SIGKILL')
  const own = await call('van', await localToken(leases.owner!))
  expect({ status: own.status, sub: readUser({ 'x-selvedge-user': own.user! })?.sub }).toEqual({
    status: 200,
    sub: world.owner.personId,
  })
  const guest = await localToken(leases.guest!)
  expect(await call('van', guest)).toMatchObject({ status: 200, account: world.guest.accountId })
  expect(await call('crane', guest)).toMatchObject({ reason: 'token_revoked' })
  await expect(world.services.runtime().getContainers({ edgeAccessToken: guest })).rejects.toThrow()
})

it('the lease is for the key of the app alone', async () => {
  await expect(localToken(leases.guest!, createProofKey())).rejects.toThrow(/another key/)
})

it('a share that is removed while the device is cut off ends when the device is back', async () => {
  const { stack } = world.services
  again = await startProgram('identity', {
    SELVEDGE_STATE: stack.state,
    SELVEDGE_IDENTITY_PORT: new URL(stack.identity.url).port,
  })
  const guest = await signIn(world.guest)
  await world.owner.console.api['share.remove']({ shareId })
  await expect.poll(async () => (await call('van', guest.access_token!)).reason).toBe('token_revoked')
  await again.stop('SIGKILL')
  const late = await localToken(leases.guest!).catch(() => undefined)
  expect((await call('van', late ?? '')).status).not.toBe(200)
})
