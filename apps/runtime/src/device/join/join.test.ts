/** A device with a join key: when it shows the key, what it does with the answer, and after which it never shows it again. */
import { OAuthFailure } from '@selvedge/client'
import type { EdgeTokenResponse } from '@selvedge/protocol'
import type { JoinClaim, NodeStatement } from '@selvedge/protocol/tokens'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RequestEdgeToken } from '../cloud/edge-token-request.ts'
import { createNotices } from '../node/notices.ts'
import { initialState, type RuntimeState } from '../state.ts'
import type { FoundKey } from './find-key.ts'
import { createJoin } from './join.ts'

const key = `sj_${'k'.repeat(32)}`
const statement = { name: 'n' } as NodeStatement

let value: RuntimeState
let used: string[]
let claims: (JoinClaim | undefined)[]
let answers: (object | Error)[]
let again: number
let diskIsFull: boolean
let given: string | undefined
beforeEach(() => {
  vi.useFakeTimers()
  value = initialState
  used = []
  claims = []
  answers = []
  again = 0
  diskIsFull = false
  given = undefined
})
afterEach(() => void vi.useRealTimers())

const joined = { account_id: 'a', join: 'joined' }
const waiting = { account_id: '', join: 'waiting' }
const refused = (reason: 'invalid_grant' | 'temporarily_unavailable' | 'access_denied' = 'invalid_grant') =>
  new OAuthFailure(reason, 'no', 400)

function open(found: FoundKey | null = { key }, serial?: string) {
  const notices = createNotices(createFakeClock(), createMemoryLog())
  const join = createJoin({
    ...{ found: found ?? undefined, notices, serial, log: createMemoryLog() },
    state: {
      get value() {
        return value
      },
    },
    given: {
      store: async (each) => void (given = each),
      remove: async () => void (given = undefined),
    },
    used: {
      has: (each) => used.includes(each),
      add: async (each, isCredential) => void used.push(isCredential ? `${each} of a file` : each),
    },
  })
  join.connect({
    account: {
      async join(accountId) {
        if (diskIsFull) throw new Error('no space left')
        value = { ...value, accountId }
      },
    },
    async again() {
      again++
      if (given !== undefined) await request(statement)
    },
  })
  const request: RequestEdgeToken = join.wrap(async (_statement, claim) => {
    claims.push(claim)
    const next = answers.shift() ?? { account_id: value.accountId }
    if (next instanceof Error) throw next
    return next as EdgeTokenResponse
  })
  return { ...join, request, reasons: () => notices.list().map(({ reason }) => reason) }
}

it('shows its key and its serial number, has the account of the answer, and never shows the key again', async () => {
  const device = open({ key }, 'SN-1')
  answers = [joined]
  await device.request(statement)
  expect([claims, value.accountId, used]).toEqual([[{ key, serial: 'SN-1' }], 'a', [key]])
  await device.request(statement)
  value = initialState
  await device.request(statement)
  await open().request(statement)
  expect(claims.slice(1)).toEqual([undefined, undefined, undefined])
})

it('requests the removal of the file of the key', async () => {
  answers = [joined]
  await open({ key, isCredential: true }).request(statement)
  expect(used).toEqual([`${key} of a file`])
})

it('shows the key again where its account could not be stored, or no answer came', async () => {
  const device = open()
  answers = [new Error('no network'), joined, joined]
  await expect(device.request(statement)).rejects.toThrow('no network')
  diskIsFull = true
  await expect(device.request(statement)).rejects.toThrow('no space left')
  expect(used).toEqual([])
  diskIsFull = false
  await device.request(statement)
  expect([claims.filter(Boolean).length, value.accountId, used]).toEqual([3, 'a', [key]])
})

it('shows the key again to a service that does not know join keys, and has no account of it', async () => {
  const device = open()
  await vi.runAllTimersAsync()
  expect(used).toEqual([])
  answers = [{ account_id: '' }, { account_id: 'a' }, { account_id: '', join: 'joined' }]
  for (let at = 0; at < 3; at++) await device.request(statement)
  expect([claims, value.accountId, used]).toEqual([[{ key }, { key }, { key }], '', []])
  expect([device.reasons(), vi.getTimerCount()]).toEqual([[], 0])
})

it('sends no request by itself once it has an account', async () => {
  const device = open()
  answers = [waiting]
  await device.request(statement)
  value = { ...initialState, accountId: 'b' }
  device.accountChanged()
  device.accountChanged()
  await vi.advanceTimersByTimeAsync(3_600_000)
  expect([again, used, device.reasons()]).toEqual([0, [key], []])
})

describe('shows no key', () => {
  it('while it has an account, and has used the key up then', async () => {
    value = { ...initialState, accountId: 'b' }
    const device = open()
    await vi.runAllTimersAsync()
    expect(used).toEqual([key])
    value = initialState
    await device.request(statement)
    expect(claims).toEqual([undefined])
  })

  it('once a person has associated it', async () => {
    const device = open()
    value = { ...initialState, accountId: 'b', report: { id: 'b', access_token: 't' } }
    device.accountChanged()
    await vi.runAllTimersAsync()
    expect(used).toEqual([key])
  })

  it('while it has an account to report, or reports one', async () => {
    const device = open()
    value = { ...initialState, report: { id: '' } }
    await device.request(statement)
    value = initialState
    await device.request({ ...statement, account: { id: '' } })
    expect(claims).toEqual([undefined, undefined])
  })

  it('without one, and raises a notice where a person set one that is unusable', async () => {
    const without = open(null)
    const problem = open({ problem: 'it is no file' })
    await without.request(statement)
    await problem.request(statement)
    expect(claims).toEqual([undefined, undefined])
    expect([without.reasons(), problem.reasons()]).toEqual([[], ['join_refused']])
  })
})

describe('a key that is refused', () => {
  it.each(['invalid_grant', 'temporarily_unavailable'] as const)(
    'with %s: the device works on without it, and shows it again after longer and longer times',
    async (reason) => {
      const device = open()
      answers = [refused(reason)]
      await device.request(statement)
      await device.request(statement)
      expect(claims).toEqual([{ key }, undefined, undefined])
      expect(device.reasons()).toEqual(['join_refused'])
      await vi.advanceTimersByTimeAsync(75_000)
      expect(again).toBe(1)
      answers = [refused(reason)]
      await device.request(statement)
      expect(claims.slice(3)).toEqual([{ key }, undefined])
      await vi.advanceTimersByTimeAsync(89_000)
      expect(again).toBe(1)
      await vi.advanceTimersByTimeAsync(62_000)
      expect(again).toBe(2)
      answers = [joined]
      await device.request(statement)
      expect([value.accountId, device.reasons()]).toEqual(['a', []])
    },
  )

  it('is shown every few hours in the end', async () => {
    const device = open()
    for (let at = 0; at < 12; at++) {
      answers = [refused()]
      await device.request(statement)
      await vi.advanceTimersByTimeAsync(7.5 * 3_600_000)
    }
    expect([claims.filter(Boolean).length, again]).toEqual([12, 12])
    answers = [refused()]
    await device.request(statement)
    await vi.advanceTimersByTimeAsync(4.4 * 3_600_000)
    expect(again).toBe(12)
  })

  it('because the node itself is refused has no second request', async () => {
    const device = open()
    answers = [refused('access_denied')]
    await expect(device.request(statement)).rejects.toThrow('no')
    expect([claims.length, device.reasons()]).toEqual([1, []])
  })
})

describe('a key that a person gives to the runtime', () => {
  const other = `sj_${'o'.repeat(32)}`

  it('is stored, shown at once in place of the one before, and used up with the account', async () => {
    const device = open({ key, isCredential: true })
    answers = [refused()]
    await device.request(statement)
    answers = [joined]
    expect(await device.joinAccount(other)).toEqual({ accountId: 'a', state: 'joined' })
    expect(claims.at(-1)).toEqual({ key: other })
    expect([used, given, device.reasons()]).toEqual([[other], undefined, []])
  })

  it('is refused with the reason, and neither stored nor shown again', async () => {
    const device = open(null)
    answers = [refused()]
    await expect(device.joinAccount(other)).rejects.toMatchObject({
      reason: 'join_key_refused',
      message: 'no',
    })
    await device.request(statement)
    expect([claims, given, device.reasons(), vi.getTimerCount()]).toEqual([
      [{ key: other }, undefined, undefined],
      undefined,
      [],
      0,
    ])
  })

  it('may be another one after a refusal', async () => {
    const device = open(null)
    answers = [refused()]
    await expect(device.joinAccount(other)).rejects.toMatchObject({ cause: refused() })
    answers = [joined]
    expect(await device.joinAccount(key)).toEqual({ accountId: 'a', state: 'joined' })
  })

  it('that is refused leaves the key of the configuration, which is shown again', async () => {
    const device = open({ key })
    answers = [refused()]
    await expect(device.joinAccount(other)).rejects.toThrow('no')
    answers = [joined]
    await device.request(statement)
    expect([claims.at(-1), used]).toEqual([{ key }, [key]])
  })

  it('waits for an approval, and is stored meanwhile', async () => {
    const device = open(null)
    answers = [waiting]
    expect(await device.joinAccount(other)).toEqual({ accountId: '', state: 'waiting' })
    expect([given, device.reasons()]).toEqual([other, ['join_waiting']])
  })

  it('is stored where no service answers, and shown with the next request', async () => {
    const device = open(null)
    answers = [new Error('no network')]
    expect(await device.joinAccount(other)).toEqual({ accountId: '', state: 'trying' })
    answers = [joined]
    await device.request(statement)
    expect([claims, used, given]).toEqual([[{ key: other }, { key: other }], [other], undefined])
  })

  it('changes nothing of a device that has an account, and one joins at a time', async () => {
    const device = open(null)
    answers = [waiting]
    const first = device.joinAccount(other)
    await expect(device.joinAccount(key)).rejects.toMatchObject({
      reason: 'busy',
      message: 'the runtime joins an account now',
    })
    await first
    value = { ...initialState, accountId: 'b' }
    await expect(device.joinAccount(key)).rejects.toMatchObject({
      reason: 'already_associated',
      message: 'this runtime has the account b',
    })
    expect(given).toBe(other)
  })
})

describe('a device that waits for an approval', () => {
  it('sends its request again soon, and less often later', async () => {
    const device = open()
    answers = [waiting]
    await device.request(statement)
    expect([device.reasons(), value.accountId]).toEqual([['join_waiting'], ''])
    await vi.advanceTimersByTimeAsync(37_500)
    expect(again).toBe(1)
    for (let at = 0; at < 10; at++) {
      answers = [waiting]
      await device.request(statement)
    }
    await vi.advanceTimersByTimeAsync(449_000)
    expect(again).toBe(1)
    await vi.advanceTimersByTimeAsync(302_000)
    expect(again).toBe(2)
    answers = [joined]
    await device.request(statement)
    expect([value.accountId, device.reasons()]).toEqual(['a', []])
  })

  it('after a refusal has that notice alone', async () => {
    const device = open()
    answers = [refused()]
    await device.request(statement)
    await vi.advanceTimersByTimeAsync(75_000)
    answers = [waiting]
    await device.request(statement)
    expect(device.reasons()).toEqual(['join_waiting'])
  })

  it('and is refused then has that notice alone', async () => {
    const device = open()
    answers = [waiting, refused()]
    await device.request(statement)
    await device.request(statement)
    expect(device.reasons()).toEqual(['join_refused'])
    device.stop()
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(again).toBe(0)
  })
})
