import { expect, it } from 'vitest'
import { createTurns } from './turns.ts'

it('32 sign-ins of a domain wait for its provider; one more is refused, and those of other domains are not', async () => {
  const inTurn = createTurns()
  const answer = Promise.withResolvers<string>()
  const waiting = Array.from({ length: 32 }, () => inTurn('a.example', () => answer.promise))
  await expect(inTurn('a.example', async () => 'x')).rejects.toMatchObject({
    reason: 'busy',
    message: '32 sign-ins wait for the provider of a.example already',
  })
  expect(await inTurn('b.example', async () => 'x')).toBe('x')
  answer.resolve('done')
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['done']))
  await expect(inTurn('a.example', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await inTurn('a.example', async () => 'x')).toBe('x')
})
