/** What a device reports of leases: in the log of its own account only, without details of other accounts, and not without end. */
import type { LeaseUse } from '@selvedge/protocol/tokens'
import { readLeaseUses } from '@selvedge/protocol/tokens'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Audit, createAudit } from '../../storage/audit/audit.ts'
import { migrations } from '../../storage/schema.ts'
import { createLeaseAudit, type LeaseAudit } from './lease-audit.ts'

let store: SqlStore
let audit: Audit
let leaseAudit: LeaseAudit
beforeEach(async () => {
  store = openMemoryStore(migrations)
  audit = createAudit(store, createFakeClock(), { keepMs: 1e12, perAccount: 1000 })
  leaseAudit = createLeaseAudit(store, audit)
  for (const account of ['a', 'b'])
    await store.run(sql`INSERT INTO sign_ins (sid, client_id, account_id, person_id, email, node_id, origin, scope, audience, jkt,
        auth_time, created_at, expires_at, generation, rotations, last_used_at, described)
      VALUES (${`of-${account}`}, 'c', ${account}, '', ${`${account}@example.com`}, '', '', '', '""', '', 0, 0, 9, 0, '', 0, '')`)
})
afterEach(() => store.close())

const use = (more: Partial<LeaseUse> = {}): LeaseUse => ({
  ...{ jti: 'l', sid: 'of-a', client_id: 'c', account_id: 'a', count: 3, first_at: 0, last_at: 60 },
  ...more,
})
async function report(uses: readonly LeaseUse[], accounts: (string | undefined)[] = ['a']) {
  const statements = await leaseAudit({ nodeId: 'n', accounts, uses, address: '127.0.0.1' })
  if (statements.length > 0) await store.transaction(statements)
}

it('a use is a row in the log of the account, with person, project, number and times', async () => {
  await report([use({ first_at: 30 })])
  expect(await audit.list('a', 10)).toMatchObject([
    {
      ...{ action: 'lease.use', outcome: 'ok' },
      actor: 'the device',
      subject: 'n',
      detail:
        '3 local tokens for a@example.com without this service, from 1970-01-01T00:00:30.000Z to 1970-01-01T00:01:00.000Z: project c, sign-in of-a',
    },
  ])
})

it('a device writes into the log of no other account, and learns no address of another account', async () => {
  await report([use({ account_id: 'b' }), use({ account_id: '' })], ['a', undefined])
  await report([use({ sid: 'of-b' })])
  expect(await audit.list('b', 10)).toEqual([])
  const [row, ...more] = await audit.list('a', 10)
  expect(more).toEqual([])
  expect(row!.detail).not.toContain('example.com')
  expect(row!.detail).toContain('for a program without this service')
})

it('a use without an account is in no log, also while the device has no account', async () => {
  await report([use({ account_id: '' })], ['a', ''])
  expect(await audit.list('', 10)).toEqual([])
})

it('a device that left its account reports to it', async () => {
  await report([use()], ['a', ''])
  expect(await audit.list('a', 10)).toHaveLength(1)
})

it('a device that reports without end fills no log', async () => {
  for (let count = 0; count < 300; count++) await report([use()])
  expect((await audit.list('a', 1000)).length).toBeLessThanOrEqual(110)
})

describe('the claim of a device', () => {
  it('is read as it is', () => expect(readLeaseUses([use()])).toEqual([use()]))

  it.each<[what: string, claim: unknown]>([
    ['no list', use()],
    ['an empty list', []],
    ['null', null],
    ['more than eight', Array.from({ length: 9 }, () => use())],
    ['a long list', [use(), { ...use(), more: 'x'.repeat(3000) }]],
    ['U+0000', [use({ sid: 'a\0b' })]],
    ['a line break', [use({ client_id: 'a\nb' })]],
    ['characters that turn the text around', [use({ client_id: '\u202e' })]],
    ['a long ID', [use({ jti: 'x'.repeat(65) })]],
    ['no tokens', [use({ count: 0 })]],
    ['half a token', [use({ count: 0.5 })]],
    ['a number beyond all', [use({ count: 1e300 })]],
    ['a time before 1970', [use({ last_at: -1 })]],
    ['a time beyond the calendar', [use({ first_at: 1e15 })]],
  ])('is ignored with %s', (_, claim) => expect(readLeaseUses(claim)).toBeUndefined())
})
