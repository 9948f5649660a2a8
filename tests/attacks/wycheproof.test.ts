/** Cases of the Wycheproof project, made to break verifiers of signatures. */
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { checkAlgorithm, jwkOfSet, splitJws } from '@selvedge/protocol/tokens'
import { importPublicKey, readKeySet, verifyEs256 } from '@selvedge/service-kit/tokens'
import { describe, expect, it } from 'vitest'

/** The cases of a file of `tests/data/wycheproof`, with the key that is above each. */
function* readCases(name: string): Generator<{ key: Key; isValid: boolean; fields: readonly string[] }> {
  let key: Key = {}
  for (const line of readFileSync(new URL(`../data/wycheproof/${name}.jsonl`, import.meta.url), 'utf8').split(
    '\n',
  )) {
    if (line === '' || line.startsWith('#')) continue
    const value = JSON.parse(line)
    if (!Array.isArray(value)) key = value
    else yield { key, isValid: value[0], fields: value.slice(1) }
  }
}
type Key = JsonWebKey & { readonly alg?: string; readonly keys?: readonly unknown[] }

/** Whether our verifier takes a JWS with a key of a published set. */
function accepts(jws: string, key: unknown): boolean {
  try {
    const parts = splitJws(jws)
    checkAlgorithm(parts.header, 'token')
    const jwk = jwkOfSet.parse(key)
    if (parts.header.kid !== jwk.kid) return false
    return verifyEs256(importPublicKey(jwk), parts.signingInput, parts.signature)
  } catch {
    return false
  }
}

describe('Wycheproof', () => {
  it('agrees with all 262 cases of ECDSA P-256 in P1363 form', () => {
    let count = 0
    for (const { key, isValid, fields } of readCases('ecdsa-p256')) {
      const [message = '', signature = '', comment] = fields
      const publicKey = createPublicKey({ key, format: 'jwk' })
      const accepted = verifyEs256(
        publicKey,
        Buffer.from(message, 'base64url'),
        Buffer.from(signature, 'base64url'),
      )
      expect({ comment, accepted }).toEqual({ comment, accepted: isValid })
      count++
    }
    expect(count).toBe(262)
  })

  it('accepts no invalid JWS of 401, and every valid ES256 one', () => {
    let count = 0
    for (const { key, isValid, fields } of readCases('jws')) {
      const [jws = '', comment] = fields
      const ours = key.crv === 'P-256' && key.alg === 'ES256'
      expect({ count, comment, accepted: accepts(jws, key) }).toEqual({
        count,
        comment,
        accepted: ours && isValid,
      })
      count++
    }
    expect(count).toBe(401)
  })

  it('accepts nothing with a key set that is mixed up, unsound or for something else', () => {
    let count = 0
    for (const { key, fields } of readCases('jwk')) {
      const [jws = '', comment] = fields
      const keys = readKeySet(key.keys ? key : { keys: [key] })
      expect({ comment, accepted: acceptsFrom(keys, jws) }).toEqual({ comment, accepted: false })
      count++
    }
    expect(count).toBe(26)
  })
})

function acceptsFrom(keys: ReadonlyMap<string, KeyObject>, jws: string): boolean {
  try {
    const parts = splitJws(jws)
    checkAlgorithm(parts.header, 'token')
    const key = keys.get(parts.header.kid as string)
    return key !== undefined && verifyEs256(key, parts.signingInput, parts.signature)
  } catch {
    return false
  }
}
