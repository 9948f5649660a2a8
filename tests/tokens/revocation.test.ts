/** Tokens that are revoked before they expire: at the service at once, on the device within the interval, and offline. */
import * as jose from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  accessToken,
  adminOf,
  createDeveloper,
  createProject,
  type Developer,
  runtimeOf,
} from '../harness/flow.ts'
import { post } from '../harness/oauth.ts'
import { type Stack, startProgram, startStack } from '../harness/processes.ts'
import { createProgramClock, type ProgramClock } from '../harness/program-clock.ts'

let clock: ProgramClock
let stack: Stack
let developer: Developer
beforeAll(async () => {
  clock = await createProgramClock()
  stack = await startStack({ runtime: ['--revocations.interval=1'], env: clock.env })
  developer = await createDeveloper(stack.state)
  await runtimeOf(stack).associateAccount({ edgeAccessToken: await accessToken(stack, developer) })
})
afterAll(async () => {
  await stack.stop()
  await clock.remove()
})

const revoke = (token: string, more: Record<string, string> = { client_id: developer.clientId }) =>
  post(`${stack.identity.url}/revoke`, { token, ...more })
const introspect = async (token: string, clientId = developer.clientId) =>
  (await post(`${stack.identity.url}/introspect`, { token, client_id: clientId })).body
const reasonFor = async (token: string) => {
  try {
    await runtimeOf(stack).getGps({ edgeAccessToken: token })
  } catch (cause) {
    return (cause as { reason: string }).reason
  }
  return 'accepted'
}
/** A location that getGps can give, so that "accepted" is. */
const place = { longitude: '1', latitude: '2', speed: '0', bearing: '0' }

/** Lets time pass until the runtime gives an answer. */
async function until(token: string, reason: string): Promise<void> {
  let left = 20
  await clock.passWhile(async () => (await reasonFor(token)) !== reason && left-- > 0)
  expect(await reasonFor(token)).toBe(reason)
}

describe('an access token', () => {
  let token: string
  beforeEach(async () => {
    token = await accessToken(stack, developer)
    await runtimeOf(stack).updateGps({ edgeAccessToken: token, ...place })
  })

  it('is described while it is good', async () => {
    const { nodeId } = await runtimeOf(stack).getMe()
    expect(await introspect(token)).toMatchObject({
      active: true,
      client_id: developer.clientId,
      sub: developer.accountId,
      node_id: nodeId,
      token_type: 'Bearer',
      exp: expect.any(Number),
    })
  })

  it('that was revoked is inactive at once, and refused by the runtime within its interval', async () => {
    expect((await revoke(token)).status).toBe(200)
    expect(await introspect(token)).toEqual({ active: false })
    await until(token, 'token_revoked')
    const other = await accessToken(stack, developer)
    expect(await reasonFor(other)).toBe('accepted')
  })

  it('ends with the developer ID token that it was issued from', async () => {
    const project = await createProject(stack.state, developer.email)
    const own = await accessToken(stack, project)
    expect(await reasonFor(own)).toBe('accepted')
    await adminOf(stack.state)['token.developer.revoke']({ jti: project.jti })
    expect(await introspect(own, project.clientId)).toEqual({ active: false })
    await until(own, 'token_revoked')
    expect(await reasonFor(token)).toBe('accepted')
  })

  it('goes with its account, and those of afterwards are good', async () => {
    await adminOf(stack.state)['account.revoke']({ email: developer.email })
    expect(await introspect(token)).toEqual({ active: false })
    await until(token, 'token_revoked')
    const { idToken, jti } = await adminOf(stack.state)['token.developer.create']({
      email: developer.email,
      clientId: developer.clientId,
      days: null,
    })
    developer = { ...developer, idToken, jti }
    expect(await reasonFor(await accessToken(stack, developer))).toBe('accepted')
  })

  it('goes with its node, and those of afterwards are good', async () => {
    const { nodeId } = await runtimeOf(stack).getMe()
    const admin = adminOf(stack.state)
    await admin['node.block']({ nodeId })
    expect(await introspect(token)).toEqual({ active: false })
    await until(token, 'token_revoked')
    await expect(accessToken(stack, developer)).rejects.toThrow()
    await admin['node.unblock']({ nodeId })
    expect(await reasonFor(await accessToken(stack, developer))).toBe('accepted')
  })

  it('can’t be revoked, nor looked at, as another client', async () => {
    const other = await createProject(stack.state, developer.email)
    expect((await revoke(token, { client_id: other.clientId })).body.error).toBe('invalid_grant')
    expect(await introspect(token, other.clientId)).toEqual({ active: false })
    expect(await introspect(token)).toMatchObject({ active: true })
  })

  it('is distinguished from a forged one, which changes nothing', async () => {
    const forged = `${token.slice(0, -6)}AAAAAA`
    expect(await introspect(forged)).toEqual({ active: false })
    expect((await revoke(forged)).status).toBe(200)
    expect(await introspect(token)).toMatchObject({ active: true })
  })

  it('says whose it is, until it is revoked', async () => {
    const ask = () =>
      fetch(`${stack.identity.url}/userinfo`, { headers: { Authorization: `Bearer ${token}` } })
    expect(await (await ask()).json()).toEqual({
      sub: developer.accountId,
      account_id: developer.accountId,
      email: developer.email,
    })
    await revoke(token)
    expect((await ask()).status).toBe(401)
  })
})

describe('the list of revoked tokens', () => {
  it('is signed, contains no names, and is sent again only when it changed', async () => {
    const url = `${stack.identity.url}/revocations`
    const ask = (etag: string) => fetch(url, { headers: { 'If-None-Match': etag } })
    const first = await fetch(url)
    const keys = jose.createRemoteJWKSet(new URL('/jwks', stack.identity.url))
    const { payload } = await jose.jwtVerify(await first.text(), keys, {
      issuer: stack.identity.url,
      audience: 'urn:selvedge:revocations',
      typ: 'revocations+jwt',
    })
    expect(JSON.stringify(payload)).not.toContain(developer.accountId)
    // The list is read from the store twice a second at most: what was revoked before may still come.
    await clock.pass(600)
    const etag = (await fetch(url)).headers.get('etag')!
    await clock.pass(600)
    expect((await ask(etag)).status).toBe(304)
    await revoke(await accessToken(stack, developer))
    await clock.pass(600)
    const changed = await ask(etag)
    expect(changed.status).toBe(200)
    expect(changed.headers.get('etag')).not.toBe(etag)
  })

  it('shows its age', async () => {
    const { revocations } = await runtimeOf(stack).getMe()
    expect(Date.parse(revocations.checkedAt!)).toBeGreaterThan(clock.now() - 60_000)
    expect(revocations.issuedAt).not.toBeNull()
  })

  it('holds offline and after a restart', async () => {
    const own = await startStack({ runtime: ['--revocations.interval=1'], env: clock.env })
    const other = await createDeveloper(own.state)
    const [good, gone] = [await accessToken(own, other), await accessToken(own, other)]
    await runtimeOf(own).associateAccount({ edgeAccessToken: good })
    await runtimeOf(own).updateGps({ edgeAccessToken: good, ...place })
    await post(`${own.identity.url}/revoke`, { token: gone, client_id: other.clientId })
    const refused = () =>
      runtimeOf(own)
        .getGps({ edgeAccessToken: gone })
        .then(
          () => 'accepted',
          ({ reason }) => reason,
        )
    await clock.passWhile(async () => (await refused()) === 'accepted')
    expect(await refused()).toBe('token_revoked')
    // A list decides at once and is stored then; it counts as checked when it is stored.
    const decidedAt = clock.now()
    const checkedAt = async () => Date.parse((await runtimeOf(own).getMe()).revocations.checkedAt ?? '')
    await clock.passWhile(async () => !((await checkedAt()) > decidedAt))
    await own.identity.stop()
    await own.runtime.stop('SIGKILL')
    const port = new URL(own.runtime.url).port
    const again = await startProgram('runtime', {
      ...clock.env,
      SELVEDGE_STATE: own.state,
      SELVEDGE_RUNTIME_PORT: port,
      SELVEDGE_IDENTITY_URL: own.identity.url,
      SELVEDGE_DISCOVERY_URL: own.discovery.url,
    })
    expect(await refused()).toBe('token_revoked')
    expect(await runtimeOf(own).getGps({ edgeAccessToken: good })).toMatchObject({ longitude: '1' })
    expect((await runtimeOf(own).getMe()).revocations).toMatchObject({
      checkedAt: null,
      issuedAt: expect.any(String),
    })
    await again.stop()
    await own.stop()
  })
})

// The last one: the runtime gives its edge ID token out from memory for as long as it lives.
it('an edge ID token can be revoked, too', async () => {
  const { id_token: edge } = await runtimeOf(stack).getEdgeIdToken()
  expect(await introspect(edge)).toMatchObject({ active: true, token_type: 'N_A' })
  await revoke(edge, {})
  expect(await introspect(edge)).toEqual({ active: false })
  const form = {
    grant_type: 'id_token_signin',
    client_id: developer.clientId,
    id_token: developer.idToken,
    edge_id_token: edge,
    scope: 'openid',
  }
  expect((await post(`${stack.identity.url}/token`, form)).body.error_description).toContain(
    'edge ID token was revoked',
  )
})
