import { RpcError } from '@selvedge/protocol'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createLastingAnswers } from './lasting.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(() => {
  vi.useRealTimers()
})

function createAnswer() {
  let refusal: RpcError | undefined
  const ended: string[] = []
  return {
    ended,
    refuse: (reason: 'token_expired' | 'token_revoked') => {
      refusal = new RpcError(reason, 'refused')
    },
    expectAllowed: () => {
      if (refusal) throw refusal
    },
    verifyAgain: async () => {
      if (refusal) throw refusal
    },
    end: ({ reason }: RpcError) => {
      ended.push(reason)
    },
  }
}

it('ends an answer once, with the reason, and leaves others and those that ended by themselves', () => {
  const answers = createLastingAnswers()
  const [expired, valid, gone] = [createAnswer(), createAnswer(), createAnswer()]
  answers.watch(expired)
  answers.watch(valid)
  const remove = answers.watch(gone)
  for (const each of [expired, gone]) each.refuse('token_expired')
  remove()
  vi.advanceTimersByTime(3000)
  expect([expired.ended, valid.ended, gone.ended]).toEqual([['token_expired'], [], []])
})

it('an end that throws keeps no other answer from its end', () => {
  const answers = createLastingAnswers()
  const [broken, other] = [createAnswer(), createAnswer()]
  for (const each of [broken, other]) each.refuse('token_revoked')
  answers.watch({
    ...broken,
    end: () => {
      throw new Error('broken')
    },
  })
  answers.watch(other)
  vi.advanceTimersByTime(1000)
  expect(other.ended).toEqual(['token_revoked'])
})

it('has no timer while nothing lasts', () => {
  const answers = createLastingAnswers()
  const remove = answers.watch(createAnswer())
  expect(vi.getTimerCount()).toBe(1)
  remove()
  vi.advanceTimersByTime(1000)
  expect(vi.getTimerCount()).toBe(0)
})

it('ends what a verification with new keys refuses', async () => {
  const answers = createLastingAnswers()
  const [refused, accepted] = [createAnswer(), createAnswer()]
  refused.refuse('token_revoked')
  answers.watch(refused)
  answers.watch(accepted)
  await answers.verifyAll()
  expect([refused.ended, accepted.ended]).toEqual([['token_revoked'], []])
})
