/** HMAC codes of this node, and codes of others, for which the identity service is asked. */
import { generateKeyPairSync } from 'node:crypto'
import { ConnectionFailure, OAuthFailure } from '@selvedge/client'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { agreeHmacSecret, createHmacCode, verifyHmacCode } from '@selvedge/service-kit/tokens'
import { beforeEach, describe, expect, it } from 'vitest'
import { createHmac, type Hmac } from './hmac.ts'
import { createRequestBudget } from './request-budget.ts'

const clock = createFakeClock()
const now = clock.now() / 1000
const pair = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' })
  return { privateKey, publicKey, jwk: { kty, crv, x, y } as never }
}
const [node, other] = ['a'.repeat(56), 'b'.repeat(56)]
const key = { nodeId: node, signing: pair(), agreement: pair() }
const cloud = pair()
const secret = agreeHmacSecret(cloud.privateKey, key.agreement.publicKey, node)
const subject = { nodeId: other, uri: '/x' }

let hmacCloudKey: object | null
let asked: { code: unknown; token: string; proof: string }[]
let failure: Error | undefined
let hmac: Hmac
beforeEach(() => {
  hmacCloudKey = cloud.jwk
  asked = []
  failure = undefined
  hmac = createHmac({
    ...{ key, clock, url: 'https://identity.example' },
    state: {
      get value() {
        return { hmacCloudKey }
      },
    } as never,
    tokens: { get: async () => 'edge token' } as never,
    client: {
      async verifyHmac(code: unknown, token: string, prove: (nonce: string) => string) {
        asked.push({ code, token, proof: prove('n') })
        if (failure) throw failure
        return { valid: true, expiresAt: 'x' }
      },
    } as never,
  })
})

describe('a code of this node', () => {
  const create = (expiry = now + 60) => hmac.create({ ...subject, expiry: String(expiry) }).edgeHmacCode

  it('is made with the secret that is agreed with the cloud, for its node, URI and expiry', async () => {
    const code = create()
    expect(verifyHmacCode(secret, code, subject, now)).toMatchObject({ valid: true })
    expect(verifyHmacCode(secret, code, subject, now + 60)).toMatchObject({ reason: 'expired' })
    expect(await hmac.verify({ ...subject, edgeHmacCode: code }, {})).toMatchObject({ valid: true })
    expect(await hmac.verify({ ...subject, uri: '/y', edgeHmacCode: code }, {})).toEqual({
      valid: false,
      reason: 'wrong_uri',
    })
    clock.advance(60_000)
    expect(await hmac.verify({ ...subject, edgeHmacCode: code }, {})).toMatchObject({ reason: 'expired' })
    clock.advance(-60_000)
    expect(asked).toEqual([])
  })

  it.each([now, now - 1])('with the expiry %d, which is not in the future, is not made', (expiry) => {
    expect(() => create(expiry)).toThrow(
      expect.objectContaining({
        reason: 'invalid_params',
        message: `getEdgeHmacCode: parameter "expiry" is ${expiry}, which is in the past; it is ${now} now`,
      }),
    )
    expect(create(now + 1)).toBeDefined()
  })

  it('is neither made nor accepted before the secret is agreed', async () => {
    const code = create()
    hmacCloudKey = null
    expect(() => create()).toThrow(
      expect.objectContaining({
        reason: 'identity_unavailable',
        message: 'this node has not reached its identity service yet, so it has no HMAC secret',
      }),
    )
    expect(await hmac.verify({ ...subject, edgeHmacCode: code }, {})).toEqual({
      valid: false,
      reason: 'invalid',
    })
  })

  it('is made with the new secret after the cloud has another key', async () => {
    const before = create()
    const next = pair()
    hmacCloudKey = next.jwk
    expect(create()).not.toBe(before)
    expect(await hmac.verify({ ...subject, edgeHmacCode: before }, {})).toMatchObject({ valid: false })
    const agreed = agreeHmacSecret(next.privateKey, key.agreement.publicKey, node)
    expect(verifyHmacCode(agreed, create(), subject, now)).toMatchObject({ valid: true })
  })
})

describe('a code of another node', () => {
  const foreign = { ...subject, edgeHmacCode: createHmacCode(Buffer.alloc(32), other, now + 60, subject) }

  it('is checked by the identity service, with the token and a proof of this node', async () => {
    expect(await hmac.verify(foreign, {})).toEqual({ valid: true, expiresAt: 'x' })
    const [{ code, token, proof }] = asked as [(typeof asked)[0]]
    expect([code, token]).toEqual([foreign, 'edge token'])
    const claims = JSON.parse(Buffer.from(proof.split('.')[1]!, 'base64url').toString())
    expect(claims).toMatchObject({
      htm: 'POST',
      htu: 'https://identity.example/edge/hmac/verify',
      nonce: 'n',
    })
    expect(claims.ath).toEqual(expect.any(String))
  })

  it('that is no code is invalid, and no service is asked', async () => {
    expect(await hmac.verify({ ...subject, edgeHmacCode: 'x' }, {})).toEqual({
      valid: false,
      reason: 'invalid',
    })
    expect(asked).toEqual([])
  })

  it('beyond four of one request is refused', async () => {
    const request = {}
    for (let at = 0; at < 4; at++) await hmac.verify(foreign, request)
    await expect(hmac.verify(foreign, request)).rejects.toMatchObject({
      reason: 'limit_exceeded',
      message: 'one request may have 4 HMAC codes of other nodes; this one has more',
    })
    await hmac.verify(foreign, {})
    expect(asked).toHaveLength(5)
  })

  it('is not checked without the identity service, and a refusal of it is named', async () => {
    failure = new ConnectionFailure('not_running', 'cannot connect')
    await expect(hmac.verify(foreign, {})).rejects.toMatchObject({
      reason: 'identity_unavailable',
      message: 'cannot connect',
      cause: failure,
    })
    failure = new OAuthFailure('access_denied', 'the node is blocked', 403)
    await expect(hmac.verify(foreign, {})).rejects.toMatchObject({
      reason: 'identity_unavailable',
      message: expect.stringMatching(
        /^the identity service refused to check the code: .*the node is blocked/,
      ),
    })
    failure = new TypeError('a defect')
    await expect(hmac.verify(foreign, {})).rejects.toBe(failure)
  })
})

it('a budget counts each request alone, and the refusal names the next step', () => {
  const take = createRequestBudget(1, 'pieces')
  const [one, second] = [{}, {}]
  take(one)
  take(second)
  expect(() => take(one)).toThrow(
    expect.objectContaining({
      reason: 'limit_exceeded',
      message: 'one request may have 1 pieces; this one has more',
      hint: 'Send the remaining calls in another request.',
    }),
  )
})
