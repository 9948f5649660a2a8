import { expect, it, vi } from 'vitest'
import { createOneATurn } from './one-a-turn.ts'

const turn = () => new Promise(setImmediate)

it('runs work in its order, each in a turn of its own', async () => {
  const run = createOneATurn()
  const done: string[] = []
  for (const name of ['a', 'b', 'c']) run(() => done.push(name))
  expect(done).toEqual([])
  for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c'], ['a', 'b', 'c']]) {
    await turn()
    expect(done).toEqual(expected)
  }
  run(() => done.push('d'))
  await turn()
  expect(done).toEqual(['a', 'b', 'c', 'd'])
})

it('continues after work that fails', async () => {
  const run = createOneATurn()
  const done: string[] = []
  run(() => {
    throw new Error('a defect')
  })
  run(() => done.push('b'))
  await turn()
  await turn()
  expect(done).toEqual(['b'])
})

it('needs no turn where nothing waits', async () => {
  const immediate = vi.spyOn(globalThis, 'setImmediate')
  const run = createOneATurn()
  let done = 0
  for (const _ of [1, 2]) run(() => done++)
  await expect.poll(() => done).toBe(2)
  const own = immediate.mock.calls.length
  immediate.mockRestore()
  expect(own).toBe(2)
})
