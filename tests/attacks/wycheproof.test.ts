/** C2SP/wycheproof: vectors that other people made to break verifiers. They are not part of the project. */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkAlgorithm, jwkOfSet, splitJws } from '@selvedge/protocol/tokens'
import { importPublicKey, readKeySet, verifyEs256 } from '@selvedge/service-kit/tokens'
import { describe, expect, it } from 'vitest'
import { root } from '../harness/processes.ts'

const folder = join(process.env.SELVEDGE_VECTORS ?? join(root, '../shared/vectors'), 'wycheproof')
const isThere = existsSync(folder)
const groupsOf = (name: string) =>
  isThere ? JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')).testGroups : []

interface JwsTest {
  readonly tcId: number
  readonly comment: string
  readonly jws: string
  readonly result: 'valid' | 'invalid'
}

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

describe.skipIf(!isThere)('Wycheproof', () => {
  it('agrees with all 262 cases of ECDSA P-256 in P1363 form', () => {
    let count = 0
    for (const { publicKeyPem, tests } of groupsOf('ecdsa_secp256r1_sha256_p1363_test')) {
      const key = createPublicKey(publicKeyPem)
      for (const { msg, sig, result, comment } of tests) {
        count++
        expect({
          comment,
          accepted: verifyEs256(key, Buffer.from(msg, 'hex'), Buffer.from(sig, 'hex')),
        }).toEqual({
          comment,
          accepted: result === 'valid',
        })
      }
    }
    expect(count).toBe(262)
  })

  it('accepts no invalid JWS of 401, and every valid ES256 one', () => {
    let count = 0
    for (const group of groupsOf('json_web_signature_test')) {
      const key = group.public ?? group.private
      for (const { tcId, comment, jws, result } of group.tests as JwsTest[]) {
        count++
        const ours = key.crv === 'P-256' && key.alg === 'ES256'
        expect({ tcId, comment, accepted: accepts(jws, key) }).toEqual({
          tcId,
          comment,
          accepted: ours && result === 'valid',
        })
      }
    }
    expect(count).toBe(401)
  })

  it('accepts nothing with a key set that is mixed up, unsound or for something else', () => {
    for (const group of groupsOf('json_web_key_test')) {
      const set = group.public ?? group.private
      const keys = readKeySet(set.keys ? set : { keys: [set] })
      for (const { jws, comment } of group.tests as JwsTest[]) {
        expect({ group: group.comment, comment, accepted: acceptsFrom(keys, jws) }).toMatchObject({
          accepted: false,
        })
      }
    }
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
