/** A token is judged by the list of its own issuer. */
import { expect, it } from 'vitest'
import { revocationEntry } from '../tokens/revocation.ts'
import type { StoredList } from './lists.ts'
import { createLiveLists } from './live-lists.ts'

const issuer = 'https://issuer.example'
const list = (more: Partial<StoredList> = {}): StoredList => ({
  ...{ iat: 7, seq: 1, mark: '', etag: '', restartedUntil: 0, retained: [] },
  ...{ revoked: [], not_before: {}, epochs: {} },
  ...more,
})
const claims = (more: object = {}) => ({
  iss: issuer,
  jti: 't',
  sid: 's',
  iat: 100,
  account_id: 'a',
  ...more,
})

it('a token and its sign-in are revoked by name, and an account for the tokens of a time', () => {
  const live = (content: Partial<StoredList>) => createLiveLists({ lists: { [issuer]: list(content) } })
  const byId = (id: string) => live({ revoked: [revocationEntry('id', id)] })
  const byAccount = (at: number) => live({ not_before: { [revocationEntry('account', 'a')]: at } })
  expect(byId('t').reasonFor(claims())).toBe('it was revoked')
  expect(byId('s').reasonFor(claims())).toMatch(/sign-in/)
  expect(byId('a').reasonFor(claims())).toBeUndefined()
  expect(byAccount(101).reasonFor(claims())).toMatch(/account/)
  expect(byAccount(100).reasonFor(claims())).toBeUndefined()
  expect(live({}).reasonFor(claims())).toBeUndefined()
})

it('a list of one token and one account decides about both', () => {
  const content = { revoked: [revocationEntry('id', 't')], epochs: { [revocationEntry('account', 'a')]: 5 } }
  const live = createLiveLists({ lists: { [issuer]: list(content) } })
  expect(live.reasonFor(claims())).toBe('it was revoked')
  expect(live.reasonFor(claims({ jti: 'u', epoch: 4 }))).toMatch(/account/)
  expect(live.reasonFor(claims({ jti: 'u', epoch: 5 }))).toBeUndefined()
})

it('an account is no token of the same name', () => {
  const live = createLiveLists({ lists: { [issuer]: list({ revoked: [revocationEntry('account', 'a')] }) } })
  expect(live.reasonFor(claims())).toBeUndefined()
})

it('the same token is judged again by a newer list, and a changed one by what it became', () => {
  const live = createLiveLists({ lists: { [issuer]: list({ revoked: ['other'] }) } })
  const token = claims()
  expect(live.reasonFor(token)).toBeUndefined()
  live.replace(issuer, list({ revoked: [revocationEntry('id', 't')] }))
  expect(live.reasonFor(token)).toBe('it was revoked')
  expect(live.reasonFor(Object.assign(token, { jti: 'u' }))).toBeUndefined()
})

it('the list of another issuer decides nothing', () => {
  const live = createLiveLists({ lists: {} })
  const now = live.replace('https://other.example', list({ revoked: [revocationEntry('id', 't')] }))
  expect(live.reasonFor(claims())).toBeUndefined()
  expect(live.get(issuer)).toBeUndefined()
  expect(live.get('https://other.example')).toBe(now)
  live.replace(issuer, list({ iat: 9 }))
  expect(live.signedAt()).toEqual([7, 9])
})
