import { revocationEntry } from '@selvedge/service-kit/tokens'
import { beforeEach, expect, it } from 'vitest'
import { Entries } from './entries.ts'
import type { RowKind } from './rows.ts'

let entries: Entries
beforeEach(() => {
  entries = new Entries()
})
const apply = (kind: RowKind, subject: string, is_listed: 0 | 1, not_before = 0, epoch = 0) =>
  entries.apply({ kind, subject, is_listed, not_before, epoch })

const token = revocationEntry('id', 't')
const account = revocationEntry('account', 'a')

it('a token is listed until its row reports that it is not', () => {
  apply('id', 't', 1)
  expect(entries.whole()).toEqual({ revoked: [token], not_before: {}, epochs: {} })
  apply('id', 't', 0)
  expect(entries.whole()).toEqual({ revoked: [], not_before: {}, epochs: {} })
})

it.each([
  [
    [100, 5],
    [200, 3],
  ],
  [
    [200, 3],
    [100, 5],
  ],
] as const)(
  'an account that is listed twice has the later time and the larger number: %j and %j',
  (own, folded) => {
    apply('account', 'a', 1, ...own)
    apply('folded', 'a', 1, ...folded)
    expect(entries.whole()).toEqual({ revoked: [], not_before: { [account]: 200 }, epochs: { [account]: 5 } })
  },
)

it.each<[gone: RowKind, stays: RowKind]>([
  ['folded', 'account'],
  ['account', 'folded'],
])('an account that is no longer listed as %s is still listed as %s', (gone, stays) => {
  apply(stays, 'a', 1, 100, 5)
  apply(gone, 'a', 1, 200, 7)
  apply(gone, 'a', 0, 200, 7)
  expect(entries.whole()).toEqual({ revoked: [], not_before: { [account]: 100 }, epochs: { [account]: 5 } })
  apply(stays, 'a', 0)
  expect(entries.whole()).toEqual({ revoked: [], not_before: {}, epochs: {} })
})

it('of some entries, those that are not listed are reported as removed', () => {
  apply('id', 't', 1)
  apply('id', 'other', 1)
  apply('account', 'a', 1, 100, 5)
  const gone = revocationEntry('node', 'n')
  expect(entries.among(new Set([token, account, gone]))).toEqual({
    revoked: [token],
    not_before: { [account]: 100 },
    epochs: { [account]: 5 },
    ended: [gone],
  })
})

it('is empty after it is cleared', () => {
  apply('id', 't', 1)
  apply('account', 'a', 1, 100, 5)
  apply('folded', 'b', 1, 100, 5)
  entries.clear()
  expect(entries.whole()).toEqual({ revoked: [], not_before: {}, epochs: {} })
})
