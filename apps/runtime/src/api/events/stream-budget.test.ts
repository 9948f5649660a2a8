/** Streams of one caller, and of all: a place is free when its stream ends. */
import { streamLimits } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { createStreamBudget } from './stream-budget.ts'

const owner = (sid: string) => ({ account_id: 'a', sub: sid, client_id: sid, sid }) as never

it('a caller has its share, and ends a stream for another', () => {
  const budget = createStreamBudget()
  const ends = Array.from({ length: streamLimits.ofCaller }, () => budget.take(owner('one')))
  const refused = expect.objectContaining({
    reason: 'limit_exceeded',
    message: `this caller has ${streamLimits.ofCaller} streams; at most ${streamLimits.ofCaller} are allowed`,
  })
  expect(() => budget.take(owner('one'))).toThrow(refused)
  budget.take(owner('two'))
  ends[0]!()
  budget.take(owner('one'))
  expect(() => budget.take(owner('one'))).toThrow(refused)
})

it('all callers together have a limit', () => {
  const budget = createStreamBudget()
  const ends = Array.from({ length: streamLimits.all }, (_, at) => budget.take(owner(`caller ${at}`)))
  expect(() => budget.take(owner('late'))).toThrow(
    expect.objectContaining({
      reason: 'busy',
      message: expect.stringContaining(`has ${streamLimits.all} streams`),
    }),
  )
  ends[0]!()
  budget.take(owner('late'))
})
