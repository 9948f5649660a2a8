import { generateKeyPairSync } from 'node:crypto'
import { createDiscoveryClient, createIdentityClient, type OAuthFailure } from '@selvedge/client'
import { type Fix, identityPaths } from '@selvedge/protocol'
import { discoveryAudience, publicJwk } from '@selvedge/protocol/tokens'
import { systemClock } from '@selvedge/service-kit/clock'
import { createProof, nodeIdOf } from '@selvedge/service-kit/tokens'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDeveloper, type Developer } from '../harness/flow.ts'
import { type Stack, startStack } from '../harness/processes.ts'

let stack: Stack
let developer: Developer
let device: Awaited<ReturnType<typeof createDevice>>

/** A device without a runtime: its key, its tokens, its reports. */
async function createDevice() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicJwk.parse(publicKey.export({ format: 'jwk' }))
  const identity = createIdentityClient({ url: stack.identity.url })
  const discovery = createDiscoveryClient({ url: stack.discovery.url })
  const edgeToken = async (more: object = {}) =>
    (
      await identity.edgeToken((nonce) =>
        createProof({
          key: privateKey,
          jwk,
          htm: 'POST',
          htu: stack.identity.url + identityPaths.edgeToken,
          clock: systemClock,
          nonce,
          node: { name: 'device', hmac_key: jwk, ...more },
        }),
      )
    ).id_token
  const { access_token: accessToken } = await identity.exchange({
    clientId: developer.clientId,
    developerIdToken: developer.idToken,
    edgeIdToken: await edgeToken(),
    scope: 'openid edge:account:associate',
  })
  await edgeToken({ account: { id: developer.accountId, access_token: accessToken } })
  const token = await edgeToken({ audience: discoveryAudience })
  return {
    nodeId: nodeIdOf(jwk),
    accessToken,
    report: (fixes: unknown, shown = token) =>
      discovery.report(fixes as Fix, shown, (nonce) =>
        createProof({
          key: privateKey,
          jwk,
          htm: 'POST',
          htu: `${stack.discovery.url}/v1/fixes`,
          clock: systemClock,
          nonce,
          accessToken: shown,
        }),
      ),
    tenantToken: () => edgeToken(),
    last: () => discovery.lastFix(nodeIdOf(jwk), accessToken),
  }
}

beforeAll(async () => {
  stack = await startStack()
  developer = await createDeveloper(stack.state)
  device = await createDevice()
})
afterAll(() => stack.stop())

const fix = (more: Partial<Fix> = {}): Fix => ({
  longitude: 1,
  latitude: 2,
  speed: 3,
  bearing: 4,
  fixedAt: Date.now(),
  ...more,
})
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => 'accepted',
    (cause: OAuthFailure) => `${cause.reason}: ${cause.message}`,
  )

describe('a report', () => {
  it('may be one fix or several; the latest by its own time wins, in whatever order they come', async () => {
    const now = Date.now()
    expect(await device.report(fix({ fixedAt: now - 5000, speed: 5 }))).toEqual({
      accepted: 1,
      newest: now - 5000,
    })
    const batch = [3000, 1000, 4000].map((age) => fix({ fixedAt: now - age, speed: age }))
    expect(await device.report(batch)).toEqual({ accepted: 3, newest: now - 1000 })
    expect(await device.report(fix({ fixedAt: now - 2000, speed: 2 }))).toEqual({
      accepted: 0,
      newest: now - 1000,
    })
    expect(await device.report(batch)).toEqual({ accepted: 0, newest: now - 1000 })
    const last = await device.last()
    expect(last).toMatchObject({
      nodeId: device.nodeId,
      speed: 1000,
      fixedAt: new Date(now - 1000).toISOString(),
      nodeName: 'device',
    })
    expect(last.ageSeconds).toBeGreaterThanOrEqual(1)
  })

  it('keeps a centimetre', async () => {
    await device.report(fix({ longitude: -179.9999999, latitude: 89.9999999 }))
    expect(await device.last()).toMatchObject({ longitude: -179.9999999, latitude: 89.9999999 })
  })

  it('from the future is refused, since it would hide every later one', async () => {
    expect(await refusal(device.report(fix({ fixedAt: Date.now() + 120_000 })))).toMatch(
      /^invalid_request: a fix of .* is in the future/,
    )
  })

  it.each([
    ['nothing', {}],
    ['an empty list', []],
    ['101 fixes', Array.from({ length: 101 }, () => fix())],
    ['a longitude out of range', fix({ longitude: 181 })],
    ['text for a number', { ...fix(), latitude: '2' }],
    ['a field too many', { ...fix(), nodeId: 'x' }],
    ['a time that is no integer', fix({ fixedAt: 1.5 })],
  ])('of %s is refused', async (_, fixes) => {
    expect(await refusal(device.report(fixes))).toMatch(/^invalid_request: the body is neither a fix/)
  })

  it('with the edge ID token that any local program can get is refused', async () => {
    expect(await refusal(device.report(fix(), await device.tenantToken()))).toMatch(
      /^invalid_token: .*not meant for urn:selvedge:discovery/,
    )
  })
})
