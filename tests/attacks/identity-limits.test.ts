/** What strangers, and devices, can do to the identity service without a sign-in. */
import { request as httpRequest } from 'node:http'
import { identityPaths } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type ConsoleSession,
  enterByLink,
  openConsole,
  reasonOf,
  startWithOwner,
} from '../harness/console.ts'
import { createDevice } from '../harness/device.ts'
import { adminOf, createDeveloper } from '../harness/flow.ts'
import { createProofKey, post } from '../harness/oauth.ts'
import type { Program } from '../harness/processes.ts'

const password = 'three quiet herons at dusk'
let identity: Program
let owner: ConsoleSession
let state: string
let stop: () => Promise<void>
beforeAll(async () => {
  ;({ identity, owner, state, stop } = await startWithOwner(
    '--trustedProxies=127.0.0.1',
    '--listen.hosts=identity.internal',
  ))
  await owner.api['password.set']({ password })
})
afterAll(() => stop?.())

describe('sign-ins of terminals that nobody approves', () => {
  const begin = (from: string) =>
    fetch(identity.url + identityPaths.deviceAuthorization, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'X-Forwarded-For': from },
      body: 'client_id=selvedge-cli&scope=openid',
    })

  it('are limited for each address, and leave others theirs', async () => {
    const statuses = []
    for (let at = 0; at < 31; at++) statuses.push((await begin('203.0.113.5')).status)
    expect(statuses.filter((each) => each === 200)).toHaveLength(30)
    const refused = await begin('203.0.113.5')
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await begin('203.0.113.6')).status).toBe(200)
    // Addresses of one IPv6 network are one.
    for (let at = 0; at < 30; at++) await begin(`2001:db8::${at}`)
    expect((await begin('2001:db8::ffff')).status).toBe(429)
    expect((await begin('2001:db8:0:1::1')).status).toBe(200)
  })
})

describe('a page whose name leads here', () => {
  const ask = (path: string, host: string, method = 'GET') =>
    new Promise<number>((resolve, reject) => {
      const { port } = new URL(identity.url)
      const sent = httpRequest(
        { host: '127.0.0.1', port, path, method, headers: { Host: host } },
        (answer) => {
          answer.resume()
          resolve(answer.statusCode!)
        },
      )
      sent.on('error', reject)
      sent.end()
    })

  it.each([
    ['POST', identityPaths.token],
    ['POST', identityPaths.deviceAuthorization],
    ['POST', identityPaths.revoke],
    ['POST', identityPaths.introspect],
    ['POST', identityPaths.edgeToken],
    ['GET', identityPaths.userinfo],
    ['GET', identityPaths.jwks],
    ['GET', identityPaths.revocations],
    ['GET', identityPaths.health],
    ['GET', '/'],
  ])('is refused: %s %s', async (method, path) => {
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      'evil.example:8084',
      '127.0.0.1.evil.example',
    ])
      expect(`${host} ${await ask(path, host, method)}`).toBe(`${host} 403`)
  })

  it('is not confused with this service, by its names and addresses', async () => {
    for (const host of ['localhost', 'LOCALHOST:1', '127.0.0.1', '[::1]:99', 'identity.internal'])
      expect(`${host} ${await ask(identityPaths.jwks, host)}`).toBe(`${host} 200`)
  })
})

describe('text that no database holds', () => {
  it.each(['client_id=%00', 'client_id=a%00b', '%00=x'])('in a form is a 400: %s', async (body) => {
    for (const path of [identityPaths.token, identityPaths.deviceAuthorization, identityPaths.introspect]) {
      const answer = await fetch(identity.url + path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body,
      })
      expect(answer.status).toBe(400)
      expect((await answer.json()).error).toBe('invalid_request')
    }
  })

  it.each(['\\u0000', '\\ud800', 'a\\udc00b'])('in a call of the console is refused: %s', async (text) => {
    const path = identityPaths.consoleApi
    const body = `{"jsonrpc":"2.0","id":1,"method":"session.revoke","params":{"sessionId":"${text}"}}`
    const answer = await fetch(identity.url + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...(await owner.signed('POST', path, body)) },
      body,
    })
    expect((await answer.json()).error.data.reason).toBe('parse_error')
  })

  it('in the nonce of a proof is a 400', async () => {
    const key = createProofKey()
    const form = { grant_type: 'refresh_token', client_id: 'selvedge-cli', refresh_token: 'x' }
    const htu = identity.url + identityPaths.token
    for (const nonce of ['ééééééé.ééééééééééééééééééééée', '\u0000', '日本.語'])
      expect((await post(htu, form, { DPoP: key.prove({ htu, nonce }) })).status).toBe(400)
    expect((await post(`${identity.url}/token`, form)).status).toBe(400)
  })
})

describe('wrong passwords of strangers', () => {
  const attempt = (session: ConsoleSession, secret = 'wrong wrong wrong') =>
    reasonOf(session.api['sign_in.password']({ email: 'ada@example.com', password: secret }))

  it('end their own tries, and never those of the owner in a browser that the owner used before', async () => {
    const browser = openConsole(identity.url)
    expect(await attempt(browser, password)).toBe('accepted')
    await browser.api['session.end']()
    // From the same address, as on one machine, and from others.
    for (let at = 0; at < 6; at++) await attempt(openConsole(identity.url))
    expect(await attempt(openConsole(identity.url))).toBe('busy')
    for (let at = 0; at < 60; at++)
      await attempt(openConsole(identity.url, { 'X-Forwarded-For': `198.51.100.${at}` }))
    expect(await attempt(openConsole(identity.url, { 'X-Forwarded-For': '198.51.100.200' }))).toBe('busy')
    expect(await attempt(browser, password)).toBe('accepted')
    // And that browser has no more tries than a few.
    await browser.api['session.end']()
    const outcomes = []
    for (let at = 0; at < 12; at++) outcomes.push(await attempt(browser))
    expect(outcomes.at(-1)).toBe('busy')
  })

  it('of another person do not count as those of a browser that is known', async () => {
    const browser = openConsole(identity.url, { 'X-Forwarded-For': '198.51.100.201' })
    const other = () => reasonOf(browser.api['sign_in.password']({ email: 'eve@example.com', password }))
    const outcomes = []
    for (let at = 0; at < 7; at++) outcomes.push(await other())
    expect(outcomes.at(-1)).toBe('busy')
  })
})

describe('the audit log of an account', () => {
  it('says which device joined, left, was renamed and blocked, and with whose token', async () => {
    const developer = await createDeveloper(state)
    const admin = adminOf(state)
    const device = await createDevice(
      { identityUrl: identity.url, discoveryUrl: 'http://127.0.0.1:9' },
      developer,
      'truck 7',
    )
    await device.state({ name: 'truck 8' })
    await admin['node.block']({ nodeId: device.nodeId })
    await admin['node.unblock']({ nodeId: device.nodeId })
    await device.state({ account: { id: '' } })
    const { link } = await admin['account.link']({ email: developer.email })
    const session = await enterByLink(identity.url, link, developer.email)
    const log = (await session.api['audit.list']({ before: null })).filter(
      ({ subject, action }) => subject === device.nodeId && action.startsWith('device.'),
    )
    expect(log.map(({ action, actor }) => `${action} by ${actor}`)).toEqual([
      'device.leave by the device',
      'device.unblock by operator',
      'device.block by operator',
      'device.rename by the device',
      `device.join by ${developer.email}`,
    ])
    expect(log.at(-1)!.detail).toContain(`truck 7, with a token of project ${developer.clientId}`)
    expect(log.at(-2)!.detail).toBe('truck 7 is now truck 8')
  })
})
