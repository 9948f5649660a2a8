/** Work that lasts longer than its request: what ends it, and what does not. */
import type { RpcError } from '@selvedge/protocol'
import { findRevocation, type RevocationKind } from '@selvedge/service-kit/tokens'
import { expect, it } from 'vitest'
import type { LastingAnswer } from './lasting.ts'
import { type Beginner, createWatchWork } from './wanted-work.ts'

const iss = 'https://id.example'
const beginner: Beginner = { account_id: 'a', client_id: 'c', iss, iat: 100, epoch: 5 }

/** Watches work. What is revoked: subjects by kind, of tokens before change 6 or second 101. */
function watch(by: Beginner) {
  const state = { accountId: 'a', revokedUntil: {} as Record<string, number> }
  const revoked: Partial<Record<RevocationKind, string>> = {}
  const watched: LastingAnswer[] = []
  const ended: string[] = []
  let isOver = false
  const over = createWatchWork({
    state: { value: state as never },
    revocations: {
      reasonFor: (claims) =>
        claims.iss === iss
          ? findRevocation(claims, (kind, subject) =>
              revoked[kind] === subject ? { epoch: 6, notBefore: 101 } : undefined,
            )
          : undefined,
    },
    lasting: {
      watch(answer) {
        watched.push(answer)
        return () => {
          isOver = true
        }
      },
    },
  })(by, ({ reason }) => ended.push(reason))
  const [answer] = watched as [LastingAnswer]
  /** The reason of the refusal, if there is one. */
  const check = () => {
    try {
      return answer.expectAllowed()
    } catch (cause) {
      return (cause as RpcError).reason
    }
  }
  return { state, revoked, answer, check, ended, over, isOver: () => isOver }
}

it('lasts while its account and its project are there, whatever happens to its token', async () => {
  const { check, revoked, answer, over, isOver } = watch(beginner)
  expect(check()).toBeUndefined()
  Object.assign(revoked, { account: 'a', node: 'n', id: '', lease: 'c' })
  revoked.id = 'token'
  expect(check()).toBeUndefined()
  await answer.verifyAgain()
  expect(isOver()).toBe(false)
  over()
  expect(isOver()).toBe(true)
})

it.each([
  ['another account', 'b'],
  ['no account', ''],
])('ends when the device has %s', (_, accountId) => {
  for (const by of [beginner, { account_id: 'a', client_id: 'c' }]) {
    const { check, state } = watch(by)
    state.accountId = accountId
    expect(check()).toBe('wrong_account')
  }
})

it('ends when the account was removed meanwhile, also if it is there again', () => {
  for (const [until, reason] of [
    [99, undefined],
    [100, 'wrong_account'],
  ] as const) {
    const { check, state } = watch(beginner)
    state.revokedUntil = { a: until, b: 1000 }
    expect(check()).toBe(reason)
  }
})

it('ends when its project was turned off or removed after it began', () => {
  for (const [by, reason] of [
    [beginner, 'token_revoked'],
    [{ ...beginner, epoch: 6 }, undefined],
    [{ ...beginner, epoch: undefined }, 'token_revoked'],
    [{ ...beginner, epoch: undefined, iat: 101 }, undefined],
    [{ ...beginner, client_id: 'other' }, undefined],
    [{ ...beginner, iss: 'https://other.example' }, undefined],
    [{ account_id: 'a', client_id: 'c' }, undefined],
  ] as const) {
    const { check, revoked } = watch(by)
    revoked.client = 'c'
    expect(check()).toBe(reason)
  }
})

it('passes the reason on', () => {
  const { answer, ended } = watch(beginner)
  answer.end({ reason: 'wrong_account' } as RpcError)
  expect(ended).toEqual(['wrong_account'])
})
