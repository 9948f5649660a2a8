import { generateKeyPairSync } from 'node:crypto'
import { publicJwk } from '@selvedge/protocol/tokens'
import { expect, it } from 'vitest'
import { thumbprint } from './es256.ts'
import { createKeyCache, readKeySet } from './key-cache.ts'

const jwk = publicJwk.parse(
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }),
)
const noPoint = { ...jwk, x: jwk.y }

it('a key is imported once, and known by its thumbprint', () => {
  const find = createKeyCache(10)
  const { key, jkt } = find(jwk)
  expect(jkt).toBe(thumbprint(jwk))
  expect(key.export({ format: 'jwk' })).toMatchObject(jwk)
  expect(find({ ...jwk }).key).toBe(key)
  expect(() => find(noPoint)).toThrow()
})

it('a published set has its usable keys, without one that is no point of the curve', () => {
  const entry = { kid: 'a', alg: 'ES256', use: 'sig' }
  const keys = readKeySet({
    keys: [
      { ...noPoint, ...entry, kid: 'b' },
      { ...jwk, ...entry },
    ],
  })
  expect([...keys.keys()]).toEqual(['a'])
  expect(keys.get('a')?.export({ format: 'jwk' })).toMatchObject(jwk)
  expect(() => readKeySet('none')).toThrow()
})
