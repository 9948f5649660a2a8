/** What may read a location at the discovery service, and what ends it: every token that must not open it is tried. */
import { type IncomingMessage, request } from 'node:http'
import type { OAuthFailure } from '@selvedge/client'
import { discoveryPaths, identityPaths } from '@selvedge/protocol'
import { discoveryAudience } from '@selvedge/protocol/tokens'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { forge, readIssuerKeys } from '../attacks/forge.ts'
import { createDevice, type Device, fixAt } from '../harness/device.ts'
import { adminOf, createDeveloper, type Developer } from '../harness/flow.ts'
import { createProofKey } from '../harness/oauth.ts'
import { type Stack, startStack } from '../harness/processes.ts'
import { createProgramClock, type ProgramClock } from '../harness/program-clock.ts'
import { randomOf } from '../harness/seed.ts'

const random = randomOf('access')

let clock: ProgramClock
let stack: Stack
let developer: Developer
let device: Device
let neighbour: Device
let foreign: Device
const key = createProofKey()
const urls = () => ({ identityUrl: stack.identity.url, discoveryUrl: stack.discovery.url })
const forged = (payload: Record<string, unknown>, token = device.accessToken, header = {}) =>
  forge(token, { name: '', payload, header, expect: '' }, readIssuerKeys(stack.state))

beforeAll(async () => {
  clock = await createProgramClock()
  stack = await startStack({ discovery: ['--revocations.interval=1'], env: clock.env })
  developer = await createDeveloper(stack.state)
  device = await createDevice(urls(), developer)
  neighbour = await createDevice(urls(), developer, 'neighbour')
  foreign = await createDevice(urls(), await createDeveloper(stack.state), 'foreign')
  await Promise.all([device, neighbour, foreign].map((each) => each.report(fixAt(13, 52))))
})
afterAll(async () => {
  await stack?.stop()
  await clock?.remove()
})

/** Status, error and headers of an answer. */
async function ask(path: string, headers: Record<string, string>) {
  const response = await fetch(stack.discovery.url + path, { headers })
  const body = (await response.json()) as { error?: string; error_description?: string }
  return { status: response.status, reason: body.error ?? 'accepted', headers: response.headers, body }
}
const lastFix = (Authorization: string, of = device, headers: Record<string, string> = {}) =>
  ask(discoveryPaths.fixOf(of.nodeId), { Authorization, ...headers })
const outcome = async (answer: ReturnType<typeof ask>) => {
  const { status, reason } = await answer
  return `${status} ${reason}`
}
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => 'accepted',
    (cause: OAuthFailure) => cause.reason,
  )
async function revoke(token: string): Promise<void> {
  await fetch(stack.identity.url + identityPaths.revoke, {
    method: 'POST',
    body: new URLSearchParams({ token, client_id: developer.clientId }),
  })
}
/** Lets time pass until a call is refused, for as many lists of revoked tokens as that may need. */
async function untilRefused(call: () => Promise<string>): Promise<string> {
  let found = ''
  let left = 100
  await clock.passWhile(async () => /accepted/.test((found = await call())) && left-- > 0)
  return found
}
/** Lets time pass until the text of a stream is complete. */
async function untilComplete(text: Promise<string>): Promise<string> {
  let isOpen = true
  const complete = text.finally(() => (isOpen = false))
  await clock.passWhile(() => isOpen)
  return complete
}

describe('an access token that is bound to a key', () => {
  const bound = () => forged({ cnf: { jkt: key.jkt } })
  const htu = () => stack.discovery.url + discoveryPaths.fixOf(device.nodeId)
  const prove = (more: object = {}) =>
    key.prove({ htm: 'GET', htu: htu(), accessToken: bound.token, ...more })
  bound.token = ''

  beforeAll(() => {
    bound.token = bound()
  })

  it('opens nothing without a proof, nor under the scheme Bearer with one', async () => {
    expect(await outcome(lastFix(`Bearer ${bound.token}`))).toBe('401 invalid_token')
    expect(await outcome(lastFix(`DPoP ${bound.token}`))).toMatch(/invalid_dpop_proof$/)
    const { headers } = await lastFix(`DPoP ${bound.token}`, device, { DPoP: prove() })
    const nonce = headers.get('dpop-nonce') ?? ''
    const underBearer = lastFix(`Bearer ${bound.token}`, device, { DPoP: prove({ nonce }) })
    expect(await outcome(underBearer)).toBe('401 invalid_token')
  })

  it('opens with a proof of its key, once', async () => {
    const { headers } = await lastFix(`DPoP ${bound.token}`, device, { DPoP: prove() })
    const proof = prove({ nonce: headers.get('dpop-nonce')! })
    expect(await outcome(lastFix(`DPoP ${bound.token}`, device, { DPoP: proof }))).toBe('200 accepted')
    expect(await outcome(lastFix(`DPoP ${bound.token}`, device, { DPoP: proof }))).toMatch(
      /invalid_dpop_proof$/,
    )
  })

  it('is refused with a proof of another key', async () => {
    const { headers } = await lastFix(`DPoP ${bound.token}`, device, { DPoP: prove() })
    const nonce = headers.get('dpop-nonce')!
    const proof = createProofKey().prove({ htm: 'GET', htu: htu(), accessToken: bound.token, nonce })
    expect(await outcome(lastFix(`DPoP ${bound.token}`, device, { DPoP: proof }))).toMatch(/^4\d\d invalid_/)
  })
})

describe('the last fix of a node', () => {
  it.each([
    ['no token', () => '', '401 invalid_token'],
    ['a malformed token', () => 'Bearer a.b', '401 invalid_token'],
    [
      'an expired token',
      () => `Bearer ${forged({ iat: '$now-7200', exp: '$now-3600' })}`,
      '401 invalid_token',
    ],
    [
      'a token of another account',
      () => `Bearer ${forged({ scope: 'edge:clusters' }, foreign.accessToken)}`,
      '404 not_found',
    ],
    [
      'a token of another audience',
      () => `Bearer ${forged({ aud: 'https://backend.example' })}`,
      '401 invalid_token',
    ],
    [
      'a token with a second audience and no "azp"',
      () => `Bearer ${forged({ aud: ['urn:selvedge:edge', 'https://other.example'], azp: null })}`,
      '401 invalid_token',
    ],
    ['a token of the node itself', () => `Bearer ${device.accessToken}`, '200 accepted'],
  ])('%s: %s', async (_, authorization, expected) => {
    expect(await outcome(lastFix(authorization()))).toBe(expected)
  })

  it('of another node of the account needs the scope "edge:clusters"', async () => {
    const without = forged({ scope: 'openid edge:mcm' })
    expect(await outcome(lastFix(`Bearer ${without}`, neighbour))).toBe('403 insufficient_scope')
    expect(await outcome(lastFix(`Bearer ${without}`, device))).toBe('200 accepted')
    const withScope = forged({ scope: 'edge:clusters' })
    expect(await outcome(lastFix(`Bearer ${withScope}`, neighbour))).toBe('200 accepted')
  })

  it('is refused to a token that was revoked', async () => {
    const { accessToken } = await createDevice(urls(), developer, 'revoked')
    const read = () => outcome(lastFix(`Bearer ${forged({ scope: 'edge:clusters' }, accessToken)}`))
    expect(await read()).toBe('200 accepted')
    await revoke(accessToken)
    expect(await untilRefused(read)).toBe('401 invalid_token')
  })
})

describe('the session of a node', () => {
  it('ends, and no other begins, when the node is blocked', async () => {
    const own = await createDevice(urls(), developer, 'blocked')
    const token = await own.state({ audience: discoveryAudience })
    await own.begin({}, token)
    await adminOf(stack.state)['node.block']({ nodeId: own.nodeId })
    expect(await untilRefused(() => refusal(own.report(fixAt(1, 1))))).toBe('invalid_token')
    expect(await refusal(own.begin({}, token))).toBe('invalid_token')
  })

  it('ends, and no other begins with its token, when an edge ID token of the node is revoked', async () => {
    const own = await createDevice(urls(), developer, 'revoked')
    const token = await own.state({ audience: discoveryAudience })
    await own.begin({}, token)
    await revoke(token)
    expect(await untilRefused(() => refusal(own.report(fixAt(1, 1))))).toBe('invalid_token')
    expect(await refusal(own.begin({}, token))).toBe('invalid_token')
    // Tokens are distinguished by their second.
    await clock.pass(1000)
    expect(await refusal(own.begin({}, await own.state({ audience: discoveryAudience })))).toBe('accepted')
  })

  it('reads no exact track of a node that shows its account the city alone', async () => {
    const shy = await createDevice(urls(), developer, 'shy')
    const trackUntil = Date.now() + 60_000
    await shy.begin({ sharing: { account: 'city', others: 'none' }, trackUntil })
    await shy.report(fixAt(13, 52))
    expect((await shy.track()).data).toHaveLength(1)
    expect(await refusal(neighbour.track(shy.nodeId))).toBe('not_found')
    await shy.begin({ sharing: { account: 'exact', others: 'none' }, trackUntil })
    await shy.report(fixAt(13, 52))
    expect((await neighbour.track(shy.nodeId)).data).toHaveLength(2)
  })

  it('is never of another node than that of the key, whatever the issuer says', async () => {
    const token = await device.state({ audience: discoveryAudience })
    const lying = forged({ node_id: neighbour.nodeId }, token)
    expect(await refusal(device.begin({}, lying))).toBe('invalid_token')
    await device.begin({}, token)
  })
})

describe('the stream of an account', () => {
  const personToken = (more: object = {}) =>
    forged({
      aud: discoveryAudience,
      scope: 'edge:clusters',
      account_id: developer.accountId,
      sid: random.bytes(16).toString('hex'),
      jti: random.bytes(16).toString('hex'),
      node_id: null,
      ...more,
    })

  function open(token: string): Promise<{ status: number; text: Promise<string> }> {
    return new Promise((resolve, reject) => {
      const onResponse = (response: IncomingMessage) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => (text += part))
        const whole = new Promise<string>((done) => {
          response.once('close', () => done(text))
        })
        resolve({ status: response.statusCode!, text: whole })
      }
      const headers = { Authorization: `Bearer ${token}` }
      const url = stack.discovery.url + discoveryPaths.accountStream
      request(url, { agent: false, headers }, onResponse).on('error', reject).end()
    })
  }

  it('ends with the reason when its token expires', async () => {
    // Tokens are accepted for a minute beyond their end.
    const token = personToken({ iat: '$now-60', exp: '$now+60' })
    const { status, text } = await open(token)
    expect(status).toBe(200)
    await clock.pass(120_000)
    expect(await text).toMatch(/event: end\ndata: \{"reason":"token_expired"/)
  })

  it('ends with the reason when its token is revoked', async () => {
    const jti = random.bytes(16).toString('hex')
    const { status, text } = await open(personToken({ jti, sid: device.accessToken && (await sidOf()) }))
    expect(status).toBe(200)
    await revoke(device.accessToken)
    expect(await untilComplete(text)).toMatch(/event: end\ndata: \{"reason":"token_revoked"/)
  })

  it('needs the scope "edge:clusters"', async () => {
    const headers = { Authorization: `Bearer ${personToken({ scope: 'openid' })}` }
    for (const path of [
      discoveryPaths.accountFixes,
      discoveryPaths.accountPlaces,
      discoveryPaths.accountStream,
    ])
      expect(await outcome(ask(path, headers))).toBe('403 insufficient_scope')
  })

  async function sidOf(): Promise<string> {
    const [, payload = ''] = device.accessToken.split('.')
    return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { jti: string }).jti
  }
})
