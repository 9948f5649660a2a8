import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import { openDocument } from '@selvedge/service-kit/store'
import { createDiskFaults, createFakeClock, type DiskFaults } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { manyTurns } from '../../../../../tests/harness/unread.ts'
import { type StateStore, stateFormat } from '../state.ts'
import { type Account, createAccount } from './account.ts'

let folder: string
let state: StateStore
let disk: DiskFaults
let account: Account
let changes: string[]

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'account-'))
  state = await openDocument(join(folder, 'state'), stateFormat)
  disk = await createDiskFaults()
  changes = []
  account = createAccount(
    state,
    createFakeClock(),
    () => void changes.push(state.value.accountId),
    () => false,
  )
})
afterEach(async () => {
  disk.repair()
  await state.close()
  rmSync(folder, { recursive: true })
})

const claims = (id: string) => ({ account_id: id, iat: 1 }) as AccessClaims

it('an account that two calls associate at once is acknowledged to neither before it is on the disk', async () => {
  const untilHeld = disk.hold('datasync')
  const answers: string[] = []
  const calls = [1, 2].map(() => account.associate(claims('a'), 'token').then(() => answers.push('done')))
  await untilHeld()
  await manyTurns()
  expect({ answers, changes, accountId: state.value.accountId }).toEqual({
    answers: [],
    changes: [],
    accountId: '',
  })
  disk.repair()
  await Promise.all(calls)
  expect(state.value.accountId).toBe('a')
})

it('of two accounts that are associated at once the first one stays', async () => {
  const calls = await Promise.allSettled([
    account.associate(claims('a'), 'token'),
    account.associate(claims('b'), 'token'),
  ])
  expect(calls).toMatchObject([{ status: 'fulfilled' }, { reason: { reason: 'already_associated' } }])
  expect(state.value.accountId).toBe('a')
})

it('an account that could not be stored is not reported', async () => {
  disk.fail('write')
  await expect(account.associate(claims('a'), 'token')).rejects.toThrow('no space left')
  expect({ changes, value: state.value }).toEqual({ changes: [], value: stateFormat.initial })
  disk.repair()
  await account.associate(claims('a'), 'token')
  expect(changes).toEqual(['a'])
})

it('keeps the account and its tokens if the removal could not be stored', async () => {
  await account.associate(claims('a'), 'token')
  disk.fail('datasync')
  await expect(account.remove('a', 5)).rejects.toThrow('no space left')
  expect(state.value).toMatchObject({ accountId: 'a', revokedUntil: {} })
  expect(changes).toEqual(['a'])
})

it('the removal of an account that is not the present one any more refuses its tokens and leaves the present one', async () => {
  await account.associate(claims('b'), 'token')
  await account.remove('a', 5)
  await account.remove('a', 3)
  expect(state.value).toMatchObject({ accountId: 'b', report: { id: 'b' }, revokedUntil: { a: 5 } })
})
