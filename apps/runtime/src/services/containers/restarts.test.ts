import { expect, it } from 'vitest'
import type { Plan } from '../engines/engine.ts'
import { createRestarts } from './restarts.ts'

it('reports a shortage of the device once, and again after a start', () => {
  const events: string[] = []
  const restarts = createRestarts(
    () => 0,
    ({ event }) => events.push(event),
  )
  const plan = { log: () => undefined } as unknown as Plan
  const fail = () => restarts.postponed(plan, new Error('no memory'))
  expect([fail(), fail(), fail()]).toEqual([1, 2, 4])
  expect(events).toEqual(['postponed'])
  restarts.started()
  expect(fail()).toBe(1)
  expect(events).toEqual(['postponed', 'postponed'])
})
