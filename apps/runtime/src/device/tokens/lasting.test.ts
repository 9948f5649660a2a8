import { RpcError } from '@selvedge/protocol'
import { type CaughtFailure, caughtFailures } from '@selvedge/service-kit/safely'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
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

it('ends an answer once, with the reason, and leaves other and finished answers alone', () => {
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

describe('among several answers', () => {
  const names = ['a', 'b', 'c', 'd'] as const
  /** Four answers that are watched, with the letters of those that were stopped. */
  function watchAll() {
    const answers = createLastingAnswers()
    const all = new Map(names.map((name) => [name, createAnswer()]))
    const stops = new Map(names.map((name) => [name, answers.watch(all.get(name)!)]))
    const endedOf = () => names.filter((name) => all.get(name)!.ended.length > 0).join('')
    return { answers, all, stops, endedOf }
  }

  it.each(names.flatMap((first) => names.map((second) => [first, second] as const)))(
    'those that remain after %s and %s are checked, and no other',
    (first, second) => {
      const { all, stops, endedOf } = watchAll()
      // A second call changes nothing.
      for (const name of [first, second, first]) stops.get(name)!()
      for (const answer of all.values()) answer.refuse('token_expired')
      vi.advanceTimersByTime(1000)
      expect(endedOf()).toBe(names.filter((name) => name !== first && name !== second).join(''))
      for (const { ended } of all.values()) expect(ended.length).toBeLessThanOrEqual(1)
    },
  )

  it('the checks continue for the others after one was refused, also if that one reports its end later', () => {
    const { all, stops, endedOf } = watchAll()
    all.get('a')!.refuse('token_expired')
    vi.advanceTimersByTime(1000)
    expect(endedOf()).toBe('a')
    stops.get('a')!()
    for (const name of ['b', 'c', 'd'] as const) all.get(name)!.refuse('token_revoked')
    vi.advanceTimersByTime(1000)
    expect(endedOf()).toBe('abcd')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('one that two verifications refuse is stopped once', async () => {
    const { answers, all } = watchAll()
    const answer = all.get('a')!
    answer.refuse('token_revoked')
    await Promise.all([answers.verifyAll(), answers.verifyAll()])
    expect(answer.ended).toEqual(['token_revoked'])
  })
})

it('a check that fails for another reason ends the answer, and the cause is reported', () => {
  const caught: CaughtFailure[] = []
  const note = (failure: unknown) => caught.push(failure as CaughtFailure)
  caughtFailures.subscribe(note)
  const answers = createLastingAnswers()
  const [broken, refused] = [createAnswer(), createAnswer()]
  const cause = new TypeError('broken')
  answers.watch({
    ...broken,
    expectAllowed: () => {
      throw cause
    },
  })
  answers.watch({
    ...refused,
    end: () => {
      throw new Error('cannot end')
    },
  })
  refused.refuse('token_revoked')
  vi.advanceTimersByTime(1000)
  caughtFailures.unsubscribe(note)
  expect(broken.ended).toEqual(['internal_error'])
  // A refusal is no failure.
  expect(caught.map((each) => each.where)).toEqual(['lasting.check', 'lasting.end'])
  expect(caught[0]).toMatchObject({ cause })
})
