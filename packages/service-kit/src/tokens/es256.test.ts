import { generateKeyPairSync } from 'node:crypto'
import { publicJwk } from '@selvedge/protocol/tokens'
import * as jose from 'jose'
import { describe, expect, it } from 'vitest'
import { importPublicKey, nodeIdOf, signEs256, thumbprint, verifyEs256 } from './es256.ts'

describe('ES256', () => {
  it('is understood by jose, and understands jose, a thousand times (short r and s included)', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    let short = 0
    // One signature of 128 has one: a thousand of them have none once in 2,500 runs.
    for (let at = 0; at < 1000 || short === 0; at++) {
      const text = `message ${at}`
      const ours = signEs256(privateKey, text)
      if (ours[0] === 0 || ours[32] === 0) short++
      expect(ours).toHaveLength(64)
      expect(verifyEs256(publicKey, text, ours)).toBe(true)
      if (at < 50) {
        const theirs = await new jose.CompactSign(Buffer.from(text))
          .setProtectedHeader({ alg: 'ES256' })
          .sign(privateKey)
        const [header, payload, signature] = theirs.split('.') as [string, string, string]
        expect(verifyEs256(publicKey, `${header}.${payload}`, Buffer.from(signature, 'base64url'))).toBe(true)
        const own = signEs256(privateKey, `${header}.${payload}`).toString('base64url')
        await jose.compactVerify(`${header}.${payload}.${own}`, publicKey)
      }
    }
  })

  it('is 64 bytes over the text or its bytes, and nothing else', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const signature = signEs256(privateKey, 'größer')
    expect(verifyEs256(publicKey, Buffer.from('größer'), signature)).toBe(true)
    expect(verifyEs256(publicKey, 'kleiner', signature)).toBe(false)
    for (const other of [signature.subarray(1), Buffer.concat([signature, signature]), Buffer.alloc(0)])
      expect(verifyEs256(publicKey, 'größer', other)).toBe(false)
    expect(verifyEs256(publicKey, 'größer', Buffer.concat([signature, Buffer.alloc(1)]))).toBe(false)
  })

  it.each(['r', 's'])('with a %s of 0 is refused', (part) => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const signature = signEs256(privateKey, 'x').fill(0, part === 'r' ? 0 : 32, part === 'r' ? 32 : 64)
    expect(verifyEs256(publicKey, 'x', signature)).toBe(false)
  })

  it('has the thumbprint that jose computes, and a node ID of 56 hexadecimal characters', async () => {
    const jwk = publicJwk.parse(
      generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }),
    )
    expect(thumbprint(jwk)).toBe(await jose.calculateJwkThumbprint(jwk))
    expect(nodeIdOf(jwk)).toMatch(/^[0-9a-f]{56}$/)
    expect(() => importPublicKey({ ...jwk, x: jwk.y })).toThrow()
  })
})
