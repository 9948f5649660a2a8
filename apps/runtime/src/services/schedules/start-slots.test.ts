import { expect, it } from 'vitest'
import { createStartSlots } from './start-slots.ts'

const never = () => new Promise<never>(() => undefined)

it('passes on results and failures, and frees the slot after both', async () => {
  const inSlot = createStartSlots()
  for (let turn = 0; turn < 5; turn++) {
    await expect(inSlot(async () => turn)).resolves.toBe(turn)
    await expect(inSlot(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  }
})

it('lets the next start begin while slow ones never complete', async () => {
  const inSlot = createStartSlots(1)
  for (let each = 0; each < 8; each++) void inSlot(never)
  expect(await inSlot(async () => 'started')).toBe('started')
})

it('waits for a start that is not slow', async () => {
  const inSlot = createStartSlots()
  const order: string[] = []
  const first = Promise.withResolvers<void>()
  const others = [1, 2, 3].map(() => inSlot(never))
  const one = inSlot(() => first.promise.then(() => order.push('first')))
  void others
  const skipped = [1, 2, 3].map(() => inSlot(never))
  void skipped
  const next = inSlot(async () => order.push('next'))
  first.resolve()
  await Promise.all([one, next])
  expect(order).toEqual(['first', 'next'])
})
