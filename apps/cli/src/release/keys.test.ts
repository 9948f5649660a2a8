/** The keys of an installed release: a file with a mistake is refused. */
import { generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import { rawPublicKey, readReleaseKeys } from './keys.ts'

const makeEntry = () => ({
  publicKey: rawPublicKey(generateKeyPairSync('ed25519').publicKey).toString('base64'),
  expires: '2030-01-31',
})
const first = makeEntry()
const second = makeEntry()
const read = (threshold: unknown, ...keys: unknown[]) => readReleaseKeys(JSON.stringify({ threshold, keys }))

it('keys are read with their last day, and other members are comments', () => {
  const { threshold, keys } = read(2, { ...first, owner: 'a' }, { ...second, expires: '2031-12-01' })
  expect(threshold).toBe(2)
  expect(keys.map(({ key }) => rawPublicKey(key).toString('base64'))).toEqual([
    first.publicKey,
    second.publicKey,
  ])
  expect(keys.map(({ expiresAt }) => expiresAt)).toEqual([
    Date.UTC(2030, 0, 31) / 1000,
    Date.UTC(2031, 11, 1) / 1000,
  ])
})

it('a file without keys is read: no other release can follow', () => {
  expect(read(1).keys).toEqual([])
})

it('at most 16 keys are read', () => {
  const keys = Array.from({ length: 17 }, makeEntry)
  expect(read(1, ...keys.slice(1)).keys).toHaveLength(16)
  expect(() => read(1, ...keys)).toThrow('list of at most 16 keys')
})

it.each<[why: string, threshold: unknown, keys: readonly unknown[], message: string]>([
  ['a threshold of 0', 0, [first], 'threshold'],
  ['a threshold of one and a half', 1.5, [first, second], 'threshold'],
  ['a text as its threshold', '1', [first], 'threshold'],
  ['a key twice', 2, [first, { ...first, expires: '2031-01-01' }], 'twice'],
  ['a threshold out of reach', 3, [first, second], '2 keys cannot reach the threshold of 3'],
  ['an entry that is null', 1, [null], 'publicKey is not base64'],
  ['a key that is a list', 1, [{ ...first, publicKey: [first.publicKey] }], 'publicKey is not base64'],
  ['a key of another length', 1, [{ ...first, publicKey: 'AAAA' }], '32 bytes'],
  ['a key in hexadecimal digits', 1, [{ ...first, publicKey: 'ab'.repeat(32) }], '32 bytes'],
  ...[undefined, null, 'never', '2030', '2030-01-31T00:00Z', '+002030-01-31', '2030-13-01', 20300131].map(
    (expires): [string, unknown, unknown[], string] => [
      `${JSON.stringify(expires)} as the end of a key`,
      1,
      [{ ...first, expires }],
      'expected a day',
    ],
  ),
  ['a list as the end of a key', 1, [{ ...first, expires: ['2030-01-31'] }], 'expected a day'],
])('release keys are refused with %s', (_, threshold, keys, message) => {
  expect(() => read(threshold, ...keys)).toThrow(message)
})

it('release keys are refused without a list', () => {
  expect(() => readReleaseKeys('{"threshold": 1}')).toThrow('not a list')
  expect(() => readReleaseKeys('{"threshold": 1, "keys": {}}')).toThrow('not a list')
})
