/** Which developer ID tokens a person is warned about: those in use that end soon, with nothing to follow them. */
import { sql } from '@selvedge/service-kit/store'
import { createFakeClock, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { migrations } from '../../storage/schema.ts'
import { createExpiringTokens } from './expiring-tokens.ts'

const day = 86_400_000
const clock = createFakeClock()
const now = clock.now()
let store: ReturnType<typeof openMemoryStore>

interface Token {
  readonly accountId: string
  readonly personId: string
  readonly clientId: string
  readonly issuedAt: number
  readonly expiresAt: number
  readonly revokedAt: number | null
  readonly usedAt: number | null
}

beforeEach(async () => {
  store = openMemoryStore(migrations)
  await store.transaction([
    ...['a', 'b'].map((id) => sql`INSERT INTO accounts VALUES (${id}, ${id}, 0)`),
    ...['c', 'd'].map(
      (id) => sql`INSERT INTO projects (client_id, name, account_id, scopes, resources, active, created_at)
        VALUES (${id}, 'p', 'a', '', '', 1, 0)`,
    ),
  ])
})
afterEach(() => store.close())

let made = 0
const add = (more: Partial<Token> = {}) => {
  const { accountId, personId, clientId, issuedAt, expiresAt, revokedAt, usedAt } = {
    ...{ accountId: 'a', personId: 'ada', clientId: 'c', issuedAt: now - 30 * day, expiresAt: now + day },
    ...{ revokedAt: null, usedAt: now - 1 },
    ...more,
  }
  return store.run(sql`INSERT INTO developer_tokens VALUES (${`jti ${++made}`}, ${accountId}, ${clientId}, ${issuedAt},
    ${expiresAt}, ${revokedAt}, ${personId}, ${usedAt})`)
}
const find = () => createExpiringTokens(store, clock)({ accountId: 'a', personId: 'ada' })

it('a person without tokens is not warned', async () => {
  expect(await find()).toEqual({ count: 0, firstAt: null })
})

it('counts tokens that end within a week, with the time of the first', async () => {
  await add({ expiresAt: now + 7 * day })
  await add({ expiresAt: now + 1 })
  expect(await find()).toEqual({ count: 2, firstAt: '2026-01-01T00:00:00.001Z' })
})

it.each<[what: string, token: Partial<Token>]>([
  ['that ends later', { expiresAt: now + 7 * day + 1 }],
  ['that has expired', { expiresAt: now }],
  ['that was revoked', { revokedAt: 1 }],
  ['that no program used', { usedAt: null }],
  ['that was made less than a week ago', { issuedAt: now - 7 * day + 1 }],
  ['of another person', { personId: 'eve' }],
  ['of another account', { accountId: 'b' }],
])('does not count a token %s', async (_, token) => {
  await add(token)
  expect(await find()).toEqual({ count: 0, firstAt: null })
})

it('a token of the same project that lives longer replaces it', async () => {
  await add({ issuedAt: now - 7 * day })
  await add({ issuedAt: now, expiresAt: now + 7 * day + 1, usedAt: null })
  expect(await find()).toEqual({ count: 0, firstAt: null })
})

it.each<[what: string, token: Partial<Token>]>([
  ['of another project', { clientId: 'd' }],
  ['that was revoked', { revokedAt: 1 }],
  ['of another person', { personId: 'eve' }],
  ['of another account', { accountId: 'b' }],
])('a long-lived token %s does not replace one', async (_, token) => {
  await add()
  await add({ issuedAt: now, expiresAt: now + 30 * day, ...token })
  expect(await find()).toMatchObject({ count: 1 })
})
