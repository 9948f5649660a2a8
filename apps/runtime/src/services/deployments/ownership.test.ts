/** No two owners and names have the same key, whatever characters their parts have. */
import { describe, expect, it } from 'vitest'
import { askedKey, idOfKey, isKeyOf, isOwnedBy, keyOf } from './ownership.ts'

const parts = ['a', 'a/c', 'c', 'c/d', 'd', 'a%2Fc', '', '/', '..', 'é', '\ud800', 'c-web']

it('the keys of different accounts, clients and names differ', () => {
  const keys = parts.flatMap((account_id) =>
    parts.flatMap((client_id) => parts.map((name) => keyOf({ account_id, client_id }, name))),
  )
  expect(new Set(keys).size).toBe(parts.length ** 3)
  expect(keys.every((key) => key.split('/').length === 3)).toBe(true)
})

describe('a key belongs to', () => {
  const key = keyOf({ account_id: 'a', client_id: 'c' }, 'web')
  it.each([
    ['a', true],
    ['', false],
    ['a/c', false],
    ['c', false],
  ])('the account %j: %s', (accountId, isOf) => {
    expect(isKeyOf(key, accountId)).toBe(isOf)
    expect(isKeyOf(keyOf({ account_id: `${accountId}b`, client_id: 'c' }, 'web'), accountId)).toBe(false)
  })
})

it('a name and an ID lead an owner to its own keys only', () => {
  const owner = { account_id: 'a', client_id: 'c' }
  const key = keyOf(owner, 'web')
  expect([askedKey(owner, 'web'), askedKey(owner, 'c-web')]).toEqual([key, key])
  for (const asked of [...parts, key, '../d/web', 'd-web'])
    expect(askedKey(owner, asked).startsWith('a/c/')).toBe(true)
})

it('what is owned belongs to the account and the client together', () => {
  const owner = { account_id: 'a', client_id: 'c' }
  expect(isOwnedBy({ accountId: 'a', clientId: 'c' }, owner)).toBe(true)
  expect(isOwnedBy({ accountId: 'b', clientId: 'c' }, owner)).toBe(false)
  expect(isOwnedBy({ accountId: 'a', clientId: 'd' }, owner)).toBe(false)
})

it('the ID of a key is that of its client and its name', () => {
  const owner = { account_id: 'a', client_id: 'c' }
  expect(idOfKey(owner, keyOf(owner, 'my van/ü'))).toBe('c-my van/ü')
})
