import { createHash, createHmac, diffieHellman, generateKeyPairSync, hkdfSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { agreeHmacSecret, createHmacCode, hmacIssuer, verifyHmacCode } from './hmac-code.ts'

const node = 'a'.repeat(56)
const other = 'b'.repeat(56)
const secret = Buffer.alloc(32, 1)
const subject = { nodeId: node, uri: '/mcm/v1/images/x/tarball' }
const code = createHmacCode(secret, node, 2000, subject)

describe('an edge HMAC code', () => {
  it('is good for its node and URI until its expiry, to the second', () => {
    expect(verifyHmacCode(secret, code, subject, 1999)).toEqual({
      valid: true,
      expiresAt: '1970-01-01T00:33:20.000Z',
    })
    expect(verifyHmacCode(secret, code, subject, 2000)).toEqual({ valid: false, reason: 'expired' })
    expect(hmacIssuer(code)).toBe(node)
  })

  it('says what is wrong with it', () => {
    expect(verifyHmacCode(secret, code, { ...subject, nodeId: other }, 0)).toEqual({
      valid: false,
      reason: 'wrong_node',
    })
    expect(verifyHmacCode(secret, code, { ...subject, uri: '/x' }, 0)).toEqual({
      valid: false,
      reason: 'wrong_uri',
    })
    expect(verifyHmacCode(Buffer.alloc(32, 2), code, subject, 0)).toEqual({ valid: false, reason: 'invalid' })
  })

  it('with any one character changed is invalid', () => {
    for (let at = 0; at < code.length; at++) {
      const changed = code.slice(0, at) + (code[at] === '1' ? '2' : '1') + code.slice(at + 1)
      expect(verifyHmacCode(secret, changed, subject, 0), `at ${at}`).toEqual({
        valid: false,
        reason: 'invalid',
      })
    }
  })

  it('has one spelling: no other last character is accepted, though it has the same bytes', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const accepted = [...alphabet].filter(
      (last) => verifyHmacCode(secret, code.slice(0, -1) + last, subject, 0).valid,
    )
    expect(accepted).toEqual([code.at(-1)])
  })

  it('is the same in every version: devices with another version check it', () => {
    const tag = (text: string) =>
      createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url')
    const signed = `v1.${node}.2000.${tag(node)}.${tag(subject.uri)}`
    const key = Buffer.from(hkdfSync('sha256', secret, 'selvedge', 'purpose edge hmac code', 32))
    expect(code).toBe(`${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`)
  })

  it('has no end after the last date of JavaScript', () => {
    const late = createHmacCode(secret, node, 999_999_999_999_999, subject)
    expect(verifyHmacCode(secret, late, subject, 0)).toEqual({
      valid: true,
      expiresAt: '+275760-09-13T00:00:00.000Z',
    })
  })

  it('has no issuer if the text is not a code', () => {
    expect(hmacIssuer('x')).toBeUndefined()
  })

  it('that is expired and forged is invalid, not expired: no content of a forgery is reported', () => {
    expect(verifyHmacCode(Buffer.alloc(32, 2), code, { nodeId: other, uri: '/x' }, 9999)).toEqual({
      valid: false,
      reason: 'invalid',
    })
  })

  it.each([
    '',
    'v1',
    `${code}x`,
    `${code}.x`,
    ` ${code}`,
    `${code}\n`,
    code.toUpperCase(),
    code.replace('v1', 'v2'),
  ])('%j is none', (text) => {
    expect(verifyHmacCode(secret, text, subject, 0)).toEqual({ valid: false, reason: 'invalid' })
  })
})

it('both sides agree on one secret; another node, another key or another cloud has another one', () => {
  const make = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const [device, cloud, stranger] = [make(), make(), make()]
  const here = agreeHmacSecret(device.privateKey, cloud.publicKey, node)
  expect(agreeHmacSecret(cloud.privateKey, device.publicKey, node)).toEqual(here)
  // The same in every version: the other side may have another one.
  const shared = diffieHellman({ privateKey: device.privateKey, publicKey: cloud.publicKey })
  expect(here).toEqual(Buffer.from(hkdfSync('sha256', shared, 'selvedge', `node secret ${node}`, 32)))
  expect(agreeHmacSecret(cloud.privateKey, device.publicKey, other)).not.toEqual(here)
  expect(agreeHmacSecret(stranger.privateKey, device.publicKey, node)).not.toEqual(here)
})
