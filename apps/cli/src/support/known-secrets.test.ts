/** Which secrets of this user a support bundle is searched for. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readKnownSecrets } from './known-secrets.ts'

let state: string
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'secrets-'))
})
afterEach(() => rmSync(state, { recursive: true }))
const write = (path: string, content: string) => {
  mkdirSync(dirname(join(state, path)), { recursive: true })
  writeFileSync(join(state, path), content)
}
const read = (env: Record<string, string> = {}, folders: string[] = []) =>
  readKnownSecrets(
    state,
    folders.map((folder) => join(state, folder)),
    env,
  )

it.each([
  ['SELVEDGE_API_KEY', true],
  ['DATABASE_PASSWORD', true],
  ['SELVEDGE_IDENTITY_STORE', true],
  ['SELVEDGE_STORE', true],
  ['SELVEDGE_STORES', false],
  ['MY_SELVEDGE_X_STORE', false],
  ['HOME', false],
])('the value of the variable %s is a secret: %s', (name, isSecret) => {
  expect(read({ [name]: 'value-of-it' })).toEqual(isSecret ? ['value-of-it'] : [])
})

it.each(['api-key', 'identity/secret-keys'])('each word of the file %s is a secret', (path) => {
  write(path, 'first-secret\nsecond-secret \t third-secret\n')
  expect(read()).toEqual(['first-secret', 'second-secret', 'third-secret'])
})

it('a text of less than eight characters is not searched for', () => {
  write('api-key', '1234567 12345678')
  expect(read({ SELVEDGE_API_KEY: '1234567' })).toEqual(['12345678'])
})

it('the secret members of a JSON file are secrets, also inside others, down to a depth', () => {
  const nested = (depth: number, inner: object): object =>
    depth === 0 ? inner : { a: nested(depth - 1, inner) }
  write(
    'runtime/node-key.json',
    JSON.stringify({
      ...{ kty: 'EC-public', d: 'private-part', none: null, number: 12_345_678, other: 'not-a-secret' },
      list: [{ password: 'in-an-array' }],
      deep: nested(3, { token: 'deep-token' }),
      deeper: nested(4, { token: 'deeper-token' }),
    }),
  )
  expect(read()).toEqual(['private-part', 'in-an-array', 'deep-token'])
})

it('sign-ins of all folders are read: of each, the first hundred files and 64 KiB of a file', () => {
  write('a/one.json', '{"refreshToken":"refresh-token-a"}')
  write('b/two.json', '{"lease":{"d":"private-part-b"}}')
  expect(read({}, ['a', 'missing', 'b'])).toEqual(['refresh-token-a', 'private-part-b'])
  for (let at = 100; at < 201; at++) write(`many/${at}`, `secret-number-${at}`)
  expect(read({}, ['many'])).toEqual(Array.from({ length: 100 }, (_, at) => `secret-number-${100 + at}`))
  write('long/file', `${'x'.repeat(64 * 1024)} left-out-secret`)
  expect(read({}, ['long'])).toEqual(['x'.repeat(64 * 1024)])
})
