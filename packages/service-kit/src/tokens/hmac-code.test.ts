import { generateKeyPairSync } from 'node:crypto'
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

  it('that is expired and forged is invalid, not expired: nothing that a forgery says is reported', () => {
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
  expect(agreeHmacSecret(cloud.privateKey, device.publicKey, other)).not.toEqual(here)
  expect(agreeHmacSecret(stranger.privateKey, device.publicKey, node)).not.toEqual(here)
})
