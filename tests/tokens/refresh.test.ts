/** Refresh tokens: rotation, the grace for lost answers, and what becomes of a stolen one. */
import * as jose from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { adminOf, createDeveloper, type Developer, runtimeOf } from '../harness/flow.ts'
import { createProofKey, post, postProven } from '../harness/oauth.ts'
import { type Stack, startStack } from '../harness/processes.ts'
import { createProgramClock, type ProgramClock } from '../harness/program-clock.ts'

const scope = 'openid edge:mcm offline_access'

/** Longer than a slow machine needs for the requests that must be within it. */
const graceSeconds = 20

let clock: ProgramClock
let stack: Stack
let developer: Developer
let url: string
beforeAll(async () => {
  clock = await createProgramClock()
  stack = await startStack({
    identity: [`--refresh.grace=${graceSeconds}`],
    envOf: { identity: clock.env },
  })
  developer = await createDeveloper(stack.state, { scopes: ['openid', 'edge:mcm', 'offline_access'] })
  url = `${stack.identity.url}/token`
})
afterAll(async () => {
  await stack?.stop()
  await clock?.remove()
})

const exchangeForm = async (more: Record<string, string> = {}) => ({
  grant_type: 'id_token_signin',
  client_id: developer.clientId,
  id_token: developer.idToken,
  edge_id_token: (await runtimeOf(stack).getEdgeIdToken()).id_token,
  scope,
  ...more,
})
const refreshForm = (token: string, more: Record<string, string> = {}) => ({
  grant_type: 'refresh_token',
  client_id: developer.clientId,
  refresh_token: token,
  ...more,
})
const begin = async () => (await post(url, await exchangeForm())).body.refresh_token!
const refresh = (token: string, more: Record<string, string> = {}) => post(url, refreshForm(token, more))

describe('a refresh token', () => {
  it('is given where the scope is asked for and the project may have it', async () => {
    const { body } = await post(url, await exchangeForm())
    expect(body).toMatchObject({ scope, token_type: 'Bearer', refresh_token: expect.any(String) })
    expect((await post(url, await exchangeForm({ scope: 'openid' }))).body).not.toHaveProperty(
      'refresh_token',
    )
    const other = await createDeveloper(stack.state)
    const refused = await exchangeForm({ client_id: other.clientId, id_token: other.idToken })
    expect((await post(url, refused)).body.error).toBe('invalid_scope')
  })

  it('brings an access token with the same standing, and its successor', async () => {
    const first = (await post(url, await exchangeForm())).body
    const { body, status } = await refresh(first.refresh_token!)
    expect(status).toBe(200)
    const claimsOf = (token: string) => {
      const { iat, exp, jti, ...claims } = jose.decodeJwt(token)
      return { ...claims, life: exp! - iat!, hasId: jti !== undefined }
    }
    expect(claimsOf(body.access_token!)).toEqual(claimsOf(first.access_token!))
    expect(body.refresh_token).not.toBe(first.refresh_token)
    // Good in itself; the runtime asks for more than that.
    const call = runtimeOf(stack).getImages({ edgeAccessToken: body.access_token! })
    await expect(call).rejects.toMatchObject({ reason: 'not_associated' })
  })

  it('may be narrowed for one access token, and never widened', async () => {
    const { body } = await refresh(await begin(), { scope: 'edge:mcm' })
    expect(body.scope).toBe('edge:mcm')
    expect((await refresh(body.refresh_token!)).body.scope).toBe(scope)
    const wider = await refresh(body.refresh_token!, { scope: `${scope} edge:account:associate` })
    expect(wider.body.error).toBe('invalid_scope')
  })

  it('returns the same successor again while its answer may be lost', async () => {
    const token = await begin()
    const answers = await Promise.all(Array.from({ length: 10 }, () => refresh(token)))
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1)
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    const [{ body }] = answers as [(typeof answers)[0]]
    const next = (await refresh(body.refresh_token!)).body.refresh_token!
    // Two steps back, and still within the grace.
    expect((await refresh(token)).body.refresh_token).toBe(body.refresh_token)
    expect((await refresh(next)).status).toBe(200)
  })

  it('that is used again after the grace ends the whole sign-in, with its access tokens', async () => {
    const stolen = await begin()
    const { body } = await refresh(stolen)
    await clock.advance(graceSeconds * 1000 + 1)
    const reused = await refresh(stolen)
    expect(reused.body).toMatchObject({
      error: 'invalid_grant',
      error_description: expect.stringContaining('used before'),
    })
    expect((await refresh(body.refresh_token!)).body.error).toBe('invalid_grant')
    const answer = await post(`${stack.identity.url}/introspect`, {
      token: body.access_token!,
      client_id: developer.clientId,
    })
    expect(answer.body).toEqual({ active: false })
  })

  it.each([
    ['of another client', async (token: string) => ({ ...refreshForm(token), client_id: 'selvedge-cli' })],
    [
      'with its last character changed',
      async (token: string) => refreshForm(token.slice(0, -1) + (token.endsWith('A') ? 'B' : 'A')),
    ],
    ['with another generation', async (token: string) => refreshForm(token.replace(/\.0\./, '.1.'))],
    ['that is no refresh token', async () => refreshForm(developer.idToken)],
  ])('%s is refused, and costs its owner nothing', async (_, change) => {
    const token = await begin()
    expect((await post(url, await change(token))).body.error).toBe('invalid_grant')
    expect((await refresh(token)).status).toBe(200)
  })

  it('ends with the developer ID token that it came from', async () => {
    const own = await createDeveloper(stack.state, { scopes: ['openid', 'offline_access'] })
    const form = await exchangeForm({
      client_id: own.clientId,
      id_token: own.idToken,
      scope: 'openid offline_access',
    })
    const { refresh_token: token } = (await post(url, form)).body
    await adminOf(stack.state)['token.developer.revoke']({ jti: own.jti })
    const answer = await post(url, refreshForm(token!, { client_id: own.clientId }))
    expect(answer.body.error).toBe('invalid_grant')
  })

  it('ends when its node is blocked, and does not come back with it', async () => {
    const token = await begin()
    const { nodeId } = await runtimeOf(stack).getMe()
    const admin = adminOf(stack.state)
    await admin['node.block']({ nodeId })
    expect((await refresh(token)).body.error).toBe('invalid_grant')
    await admin['node.unblock']({ nodeId })
    expect((await refresh(token)).body.error).toBe('invalid_grant')
    expect((await refresh(await begin())).status).toBe(200)
  })
})

describe('a refresh token that is bound to a key', () => {
  it('is refused without a proof of that key, and the attempt does not end the sign-in', async () => {
    const key = createProofKey()
    const { body } = await postProven(url, await exchangeForm(), key)
    expect(body.token_type).toBe('DPoP')
    expect(jose.decodeJwt(body.access_token!)).toMatchObject({ cnf: { jkt: key.jkt } })
    const form = refreshForm(body.refresh_token!)
    expect((await post(url, form)).body.error).toBe('invalid_grant')
    expect((await postProven(url, form, createProofKey())).body.error).toBe('invalid_grant')
    const { body: next, headers } = await postProven(url, form, key)
    expect(next.token_type).toBe('DPoP')
    expect(headers.get('dpop-nonce')).toMatch(/\S/)
  })
})
