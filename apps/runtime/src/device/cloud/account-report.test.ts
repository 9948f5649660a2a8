import { OAuthFailure } from '@selvedge/client'
import type { EdgeTokenResponse } from '@selvedge/protocol'
import type { NodeStatement } from '@selvedge/protocol/tokens'
import type { Learned } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import { createNotices } from '../node/notices.ts'
import { initialState, type RuntimeState, type StateStore } from '../state.ts'
import { createAccountReport, isConfirmed, isRemovedHere } from './account-report.ts'

const report = { id: 'a', access_token: 't' }

describe('a report is confirmed', () => {
  it('if the registry has the reported account', () => {
    expect(isConfirmed(report, report, 'a')).toBe(true)
  })

  it.each<[string, typeof report | null, typeof report | null, string]>([
    ['nothing was reported', null, null, 'a'],
    ['the registry has another account', report, report, 'b'],
    ['something else is to be reported by now', report, { ...report }, 'a'],
    ['nothing is to be reported any more', report, null, 'a'],
  ])('not if %s', (_, reported, present, registered) => {
    expect(isConfirmed(reported, present, registered)).toBe(false)
  })
})

describe('an account that the owner removed at the registry', () => {
  it.each([
    ['is removed here', 'a', { accountId: 'a', report: null }, true],
    ['stays if the node has another one', 'b', { accountId: 'a', report: null }, false],
    ['stays if the node has something to report', 'a', { accountId: 'a', report }, false],
    ['stays if no account was removed', undefined, { accountId: '', report: null }, false],
  ])('%s', (_, removed, state, expected) => {
    expect(isRemovedHere(removed, state)).toBe(expected)
  })
})

describe('the report of the account', () => {
  const answerOf = (account_id: string, more = {}) =>
    ({
      id_token: 'x',
      account_id,
      hmac_key: { k: 1 },
      expires_in: 600,
      ...more,
    }) as unknown as EdgeTokenResponse
  const statement = { name: 'n' } as NodeStatement

  it('shows while two devices have the key of this one', () => {
    account.learn(answerOf('a', { copied: true }), null)
    expect(notices.has('device_copied')).toBe(true)
    account.learn(answerOf('a'), null)
    expect(notices.has('device_copied')).toBe(false)
  })
  let value: RuntimeState
  let updates: number
  let notices: ReturnType<typeof createNotices>
  let noticeLog: ReturnType<typeof createMemoryLog>
  let log: ReturnType<typeof createMemoryLog>
  let account: ReturnType<typeof createAccountReport>
  beforeEach(() => {
    value = { ...initialState, accountId: 'a', report }
    updates = 0
    noticeLog = createMemoryLog()
    notices = createNotices(createFakeClock(), noticeLog)
    const state = {
      get value() {
        return value
      },
    } as unknown as StateStore
    const learned: Learned<RuntimeState> = {
      learn(_what, change) {
        updates++
        value = change(value)
      },
      stop: async () => undefined,
    }
    log = createMemoryLog()
    account = createAccountReport({ state, learned, notices, log })
  })
  const raised = () => notices.list().map(({ reason }) => reason)

  it('is sent until the registry has the account', async () => {
    const sent: NodeStatement[] = []
    const request = async (each: NodeStatement) => {
      sent.push(each)
      return answerOf('')
    }
    account.learn(await account.send(request, statement), report)
    expect([sent[0]!.account, value.report]).toEqual([report, report])
    account.learn(answerOf('a'), report)
    await account.send(request, statement)
    expect([sent[1], value.report]).toEqual([statement, null])
  })

  it('leaves a token of the former account out of the cache', async () => {
    expect(account.learn(answerOf('former'), report)).toBe(false)
    expect(raised()).toEqual([])
    expect(account.learn(answerOf('a'), report)).toBe(true)
    expect(raised()).toEqual([])
  })

  it('that the service refuses does not keep the node from its token', async () => {
    const request = async (each: NodeStatement) => {
      if (each.account) throw new OAuthFailure('invalid_grant', 'expired', 400)
      return answerOf('')
    }
    expect(await account.send(request, statement)).toEqual(answerOf(''))
    expect(raised()).toEqual(['account_not_confirmed'])
    expect(JSON.parse(noticeLog.lines.at(-1)!)).toMatchObject({ accountId: 'a' })
    expect([account.learn(answerOf(''), report), value.report]).toEqual([true, report])
    expect(raised()).toEqual(['account_not_confirmed'])
  })

  it.each([
    ['another refusal', new OAuthFailure('invalid_client', 'unknown', 401)],
    ['a failure', new Error('away')],
  ])('is not left out after %s', async (_, cause) => {
    let requests = 0
    const request = () => {
      requests++
      return Promise.reject(cause)
    }
    await expect(account.send(request, statement)).rejects.toBe(cause)
    expect([requests, raised()]).toEqual([1, []])
  })

  it('is not the reason of a refusal if nothing was reported', async () => {
    value = { ...value, report: null }
    const refusal = new OAuthFailure('invalid_grant', 'blocked', 400)
    await expect(account.send(() => Promise.reject(refusal), statement)).rejects.toBe(refusal)
    expect(raised()).toEqual([])
  })

  it('is either refused or different from the account of the registry, until it is the same', async () => {
    value = { ...value, report: null }
    account.learn(answerOf('b'), null)
    value = { ...value, report }
    const refuse = async (each: NodeStatement) => {
      if (each.account) throw new OAuthFailure('invalid_grant', 'expired', 400)
      return answerOf('b')
    }
    account.learn(await account.send(refuse, statement), report)
    expect(raised()).toEqual(['account_not_confirmed'])
    account.learn(answerOf('a'), report)
    expect(raised()).toEqual([])
  })

  it('shows that the registry has another account, until it has the same one', async () => {
    value = { ...value, report: null }
    account.learn(answerOf('b'), null)
    expect(raised()).toEqual(['account_differs'])
    expect(JSON.parse(noticeLog.lines.at(-1)!)).toMatchObject({ registered: 'b', accountId: 'a' })
    account.learn(answerOf('a'), null)
    expect(raised()).toEqual([])
  })

  it('writes nothing if an answer changes nothing', async () => {
    value = { ...value, report: null }
    account.learn(answerOf('a'), null)
    account.learn(answerOf('a'), null)
    expect(updates).toBe(1)
  })

  it('names an account that the owner removed', async () => {
    const removed: string[] = []
    account.onAccountRemoved((id) => removed.push(id))
    account.learn(answerOf('', { removed_account: 'a' }), report)
    value = { ...value, report: null }
    account.learn(answerOf('', { removed_account: 'a' }), null)
    expect(removed).toEqual(['a'])
    expect(log.lines.map((line) => JSON.parse(line).accountId)).toEqual(['a'])
  })
})
