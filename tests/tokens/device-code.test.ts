/** Sign-in from a terminal (RFC 8628), as a program sees it; tests/people has the page. */
import * as jose from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsoleSession, enterByLink } from '../harness/console.ts'
import { createProofKey, post, postProven } from '../harness/oauth.ts'
import { type Stack, startStack } from '../harness/processes.ts'
import { createProgramClock, type ProgramClock } from '../harness/program-clock.ts'

const clientId = 'selvedge-cli'
const grant = 'urn:ietf:params:oauth:grant-type:device_code'
const scope = 'openid edge:mcm offline_access'

/** Longer than a slow machine needs for two requests. */
const graceSeconds = 20

let clock: ProgramClock
let stack: Stack
let person: ConsoleSession
beforeAll(async () => {
  clock = await createProgramClock()
  stack = await startStack({
    identity: [`--refresh.grace=${graceSeconds}`],
    envOf: { identity: clock.env },
  })
  person = await enterByLink(stack.identity.url, stack.identity.ready.setup!, 'ada@example.com')
})
afterAll(async () => {
  await stack?.stop()
  await clock?.remove()
})

const urlOf = (path: string) => `${stack.identity.url}${path}`
const begin = async (more: Record<string, string> = {}) =>
  (await post(urlOf('/device_authorization'), { client_id: clientId, scope, ...more })).body
const redeem = (code: string, more: Record<string, string> = {}) =>
  post(urlOf('/token'), { grant_type: grant, client_id: clientId, device_code: code, ...more })

describe('a sign-in from a terminal', () => {
  it('begins with a code of eight letters for a person, and a secret for the terminal', async () => {
    const begun = await begin()
    expect(begun).toMatchObject({
      expires_in: 600,
      interval: 5,
      user_code: expect.stringMatching(/^[B-Z]{4}-[B-Z]{4}$/),
    })
    expect(begun.verification_uri).toMatch(/^http:\/\/localhost:\d+\/device$/)
    expect(begun.verification_uri_complete).toBe(`${begun.verification_uri}?user_code=${begun.user_code}`)
    expect(begun.device_code!.length).toBeGreaterThanOrEqual(43)
  })

  it('waits for approval, and returns its tokens once', async () => {
    const { device_code: code, user_code: userCode } = await begin()
    expect((await redeem(code!)).body.error).toBe('authorization_pending')
    await person.api['device_request.decide']({ userCode: userCode!, approve: true })
    const { body } = await redeem(code!)
    expect(body).toMatchObject({ scope, token_type: 'Bearer' })
    expect(jose.decodeJwt(body.id_token!)).toMatchObject({ aud: clientId, email: 'ada@example.com', scope })
    // The answer may be lost: the same again within the grace, then no more.
    expect((await redeem(code!)).body.refresh_token).toBe(body.refresh_token)
    await clock.advance(graceSeconds * 1000 + 1)
    expect((await redeem(code!)).body.error).toBe('expired_token')
    const refreshed = await post(urlOf('/token'), {
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: body.refresh_token!,
    })
    expect(jose.decodeJwt(refreshed.body.id_token!)).toMatchObject({ email: 'ada@example.com' })
  })

  it('gets slow_down when it polls too fast', async () => {
    const { device_code: code } = await begin()
    expect((await redeem(code!)).body.error).toBe('authorization_pending')
    expect((await redeem(code!)).body.error).toBe('slow_down')
    await clock.advance(5200)
    // Five seconds were enough before "slow_down"; now they are not.
    expect((await redeem(code!)).body.error).toBe('slow_down')
  })

  it('that is refused gets access_denied', async () => {
    const { device_code: code, user_code: userCode } = await begin()
    await person.api['device_request.decide']({ userCode: userCode!, approve: false })
    expect((await redeem(code!)).body.error).toBe('access_denied')
    await expect(
      person.api['device_request.decide']({ userCode: userCode!, approve: true }),
    ).rejects.toMatchObject({ reason: 'not_found' })
  })

  it.each([
    [
      'another client',
      async (code: string) => redeem(code, { client_id: '00000000-0000-4000-8000-000000000000' }),
      'invalid_client',
    ],
    ['the code of the person', async () => redeem('BCDF-GHJK'), 'invalid_grant'],
  ])('gives nothing to %s', async (_, attempt, error) => {
    expect((await attempt((await begin()).device_code!)).body.error).toBe(error)
  })

  it('can be looked up with the code as people type it, and shows who asks', async () => {
    const { user_code: userCode } = await begin()
    const typed = ` ${userCode!.toLowerCase().replace('-', ' ')}`
    expect(await person.api['device_request.find']({ userCode: typed })).toMatchObject({
      userCode,
      clientName: 'Selvedge command line',
      address: '127.0.0.1',
      isFromHere: true,
      scopes: expect.arrayContaining([{ name: 'edge:mcm', meaning: expect.any(String) }]),
    })
  })

  it('never gives more scopes than were approved, whatever is exchanged later', async () => {
    const { device_code: code, user_code: userCode } = await begin({ scope: 'openid offline_access' })
    await person.api['device_request.decide']({ userCode: userCode!, approve: true })
    const { id_token: idToken } = (await redeem(code!)).body
    const edge = await fetch(`${stack.runtime.url}/jsonrpc/v1`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"getEdgeIdToken"}',
    })
    const { result } = (await edge.json()) as { result: { id_token: string } }
    const exchange = (wanted: string) =>
      post(urlOf('/token'), {
        grant_type: 'id_token_signin',
        client_id: clientId,
        id_token: idToken!,
        edge_id_token: result.id_token,
        scope: wanted,
      })
    expect((await exchange('openid edge:mcm')).body.error).toBe('invalid_scope')
    expect((await exchange('openid')).status).toBe(200)
  })

  it('is bound to the key that it began with', async () => {
    const key = createProofKey()
    const begun = (await postProven(urlOf('/device_authorization'), { client_id: clientId, scope }, key)).body
    await person.api['device_request.decide']({ userCode: begun.user_code!, approve: true })
    const form = { grant_type: grant, client_id: clientId, device_code: begun.device_code! }
    expect((await post(urlOf('/token'), form)).body.error).toBe('invalid_grant')
    const { body } = await postProven(urlOf('/token'), form, key)
    expect(jose.decodeJwt(body.access_token!)).toMatchObject({ cnf: { jkt: key.jkt } })
  })

  it('can’t be found by guessing: after ten codes a person has to wait', async () => {
    const guesser = person
    let refused = 0
    for (let guess = 0; guess < 14; guess++) {
      const userCode = `BBBB-BBB${'BCDFGHJKLMNPQRST'[guess]}`
      await guesser.api['device_request.find']({ userCode }).catch((cause) => {
        if (cause.reason === 'busy') refused++
      })
    }
    expect(refused).toBeGreaterThan(0)
    expect(guesser.last().status).toBe(429)
    expect(Number(guesser.last().headers.get('retry-after'))).toBeGreaterThan(0)
  })
})
