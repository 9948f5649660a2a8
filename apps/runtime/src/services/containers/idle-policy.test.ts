import { expect, it } from 'vitest'
import type { Plan } from '../engines/engine.ts'
import { idleSecondsOf, isIdle } from './idle-policy.ts'

it.each([
  ['without a request for longer than the time', { requests: 0, lastUsed: 5000 }, 10, 15_001, true],
  ['without a request for exactly the time', { requests: 0, lastUsed: 5000 }, 10, 15_000, false],
  ['used a moment ago', { requests: 0, lastUsed: 15_000 }, 10, 15_001, false],
  ['with a request under way, however long', { requests: 1, lastUsed: 0 }, 10, 10_000_000, false],
  ['that is never paused', { requests: 0, lastUsed: 0 }, 0, 10_000_000, false],
])('an instance %s: is idle', (_, use, idleSeconds, now, expected) => {
  expect(isIdle(use, idleSeconds, now)).toBe(expected)
})

it.each([
  ['function', undefined, 300],
  ['oci', undefined, 0],
  ['function', 0, 0],
  ['oci', 5, 5],
] as const)(
  'a container of the kind %s with MCM.IDLE_SEC %s is paused after %s seconds',
  (kind, setting, seconds) => {
    const plan = { content: { kind }, settings: { 'MCM.IDLE_SEC': setting } } as unknown as Plan
    expect(idleSecondsOf(plan)).toBe(seconds)
  },
)
