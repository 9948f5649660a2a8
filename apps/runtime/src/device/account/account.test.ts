import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import { openDocument } from '@selvedge/service-kit/store'
import { createDiskFaults, createFakeClock, type DiskFaults } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { manyTurns } from '../../../../../tests/harness/unread.ts'
import { initialState, type RuntimeState, type StateStore, stateFormat } from '../state.ts'
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

/** An account over a state in memory, on a clock that does not move. */
function open(more: Partial<RuntimeState> = {}, { isDisputed = false } = {}) {
  const clock = createFakeClock()
  const reports: string[] = []
  const held = {
    value: { ...initialState, ...more } as RuntimeState,
    settled: async () => undefined,
    update: async (change: (value: RuntimeState) => RuntimeState) => {
      held.value = change(held.value)
    },
  }
  const own = createAccount(
    held as never,
    clock,
    () => void reports.push(held.value.accountId),
    () => isDisputed,
  )
  return { clock, reports, held, own, now: Math.floor(clock.now() / 1000) }
}

it('an account is stored with the token that proves it, and reported', async () => {
  const { own, held, reports } = open()
  expect(await own.associate(claims('a'), 'token')).toEqual({ accountId: 'a' })
  expect(held.value).toEqual({ ...initialState, accountId: 'a', report: { id: 'a', access_token: 'token' } })
  expect(reports).toEqual(['a'])
})

it('the account of the device is reported again only if the registry disputes it', async () => {
  const present = { accountId: 'a', report: null }
  const quiet = open(present)
  expect(await quiet.own.associate(claims('a'), 'next')).toEqual({ accountId: 'a' })
  expect([quiet.held.value.report, quiet.reports]).toEqual([null, []])
  const disputed = open(present, { isDisputed: true })
  await disputed.own.associate(claims('a'), 'next')
  expect([disputed.held.value.report, disputed.reports]).toEqual([{ id: 'a', access_token: 'next' }, ['a']])
})

it('another account than that of the device is refused, and named', async () => {
  const { own, held, reports } = open({ accountId: 'b' }, { isDisputed: true })
  await expect(own.associate(claims('a'), 'token')).rejects.toMatchObject({
    reason: 'already_associated',
    message: 'this runtime is already associated with account b',
  })
  expect([held.value.accountId, reports]).toEqual(['b', []])
})

it('an account that is removed leaves nothing of its own, and its tokens until then are refused', async () => {
  const own = {
    ...{
      accountId: 'a',
      trackUntil: 5,
      accountKey: { accountId: 'a', key: 'k' },
      sharing: { account: 'none' },
    },
    ...{ fix: { fixedAt: 1 }, revokedUntil: { b: 3, a: 7 }, nodeId: 'n', timeFloor: 9 },
  } as never
  const { own: account, held, reports } = open(own)
  await account.remove('a', 5)
  expect(held.value).toEqual({
    ...{ ...initialState, nodeId: 'n', timeFloor: 9, report: { id: '' } },
    revokedUntil: { b: 3, a: 7 },
  })
  expect(reports).toEqual([''])
  await account.remove('a', 8)
  expect(held.value.revokedUntil).toEqual({ b: 3, a: 8 })
})

it('the removal of another account only refuses its tokens', async () => {
  const { own, held, reports } = open({ accountId: 'a', trackUntil: 5 })
  await own.remove('b', 4)
  expect(held.value).toEqual({ ...initialState, accountId: 'a', trackUntil: 5, revokedUntil: { b: 4 } })
  expect(reports).toEqual(['a'])
})

it('a thousand removed accounts are in the state beside the last one, without those that were removed first', async () => {
  const many = Object.fromEntries(Array.from({ length: 1001 }, (_, at) => [`account ${at}`, at]))
  const { own, held } = open({ revokedUntil: many })
  await own.remove('new', 1)
  const left = Object.keys(held.value.revokedUntil)
  expect([left.length, left[0], left.at(-1)]).toEqual([1001, 'account 1', 'new'])
})

it('a device that leaves its account refuses tokens of this second, also one that was issued ahead of its clock', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  try {
    for (const [ahead, until] of [
      [-5, 0],
      [0, 0],
      [7, 7],
    ] as const) {
      const { own, held, now } = open({ accountId: 'a' })
      let isDone = false
      const leaving = own
        .unassociate({ account_id: 'a', iat: now + ahead } as AccessClaims)
        .then((answer) => {
          isDone = true
          return answer
        })
      await manyTurns()
      expect(held.value.revokedUntil).toEqual({ a: now + until })
      // The answer waits until the second has passed, unless the clocks differ by more.
      expect([isDone, vi.getTimerCount()]).toEqual(until === 0 ? [false, 1] : [true, 0])
      vi.advanceTimersByTime(1000)
      expect(await leaving).toEqual({ accountId: 'a' })
    }
  } finally {
    vi.useRealTimers()
  }
})

it('a device that leaves its account answers in the next second', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  try {
    const { own, clock, now } = open({ accountId: 'a' })
    clock.advance(400)
    let isDone = false
    const leaving = own.unassociate({ account_id: 'a', iat: now } as AccessClaims).then(() => {
      isDone = true
    })
    await manyTurns()
    vi.advanceTimersByTime(599)
    await manyTurns()
    expect(isDone).toBe(false)
    vi.advanceTimersByTime(1)
    await leaving
  } finally {
    vi.useRealTimers()
  }
})
