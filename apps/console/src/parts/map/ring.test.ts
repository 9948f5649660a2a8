import { describe, expect, it } from 'vitest'
import { arcsOf } from './ring.ts'

describe('the ring of a cluster', () => {
  it('has an arc for each state, as long as its share', () => {
    expect(arcsOf([3, 1, 0])).toEqual([
      { state: 'online', start: 0, length: 0.75 },
      { state: 'away', start: 0.75, length: 0.25 },
    ])
    expect(arcsOf([0, 5, 0])).toEqual([{ state: 'away', start: 0, length: 1 }])
  })

  it('shows one blocked device among thousands, and is still one circle', () => {
    const arcs = arcsOf([9000, 999, 1])
    expect(arcs.find(({ state }) => state === 'blocked')!.length).toBeGreaterThan(0.05)
    expect(arcs.reduce((sum, { length }) => sum + length, 0)).toBeCloseTo(1)
    for (const [index, arc] of arcs.entries())
      expect(arc.start).toBeCloseTo(arcs.slice(0, index).reduce((sum, { length }) => sum + length, 0))
  })
})
