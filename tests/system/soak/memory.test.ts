import { expect, it } from 'vitest'
import { residentMb, slopeOf } from './memory.ts'

const line = (of: (x: number) => number) => Array.from({ length: 50 }, (_, x) => ({ x, y: of(x) }))

it('finds the slope of a line, and how sure it is', () => {
  expect(slopeOf(line((x) => 3 + 2 * x))).toEqual({ slope: 2, error: 0 })
  const jagged = slopeOf(line((x) => 100 + (x % 2) * 10))
  expect(Math.abs(jagged.slope)).toBeLessThan(2 * jagged.error + 0.1)
  expect(slopeOf([])).toMatchObject({ slope: 0, error: Number.POSITIVE_INFINITY })
})

it('returns the memory of a running process, and undefined for one that ended', () => {
  expect(residentMb(process.pid)).toBeGreaterThan(10)
  expect(residentMb(2 ** 22 + 1)).toBeUndefined()
})
