import { describe, expect, it } from 'vitest'
import { boundsOf, holds } from './bounds.ts'
import { fleetOf, longitudeOf } from './fleet.ts'

const boundsAt = (...longitudes: readonly number[]) =>
  boundsOf(
    fleetOf(
      longitudes.map((longitude, index) => ({
        nodeId: String(index),
        longitude,
        latitude: index,
        onlineUntil: 0,
      })),
      new Map(),
      0,
    ),
  )
const sides = (...longitudes: readonly number[]) => {
  const { left, right } = boundsAt(...longitudes)!
  return [longitudeOf(left), longitudeOf(right)].map((each) => Math.round(each * 100) / 100)
}

describe('the part of the world with all devices', () => {
  it('does not exist without devices', () => {
    expect(boundsAt()).toBeUndefined()
  })

  it('is the spot of a single device', () => {
    expect(sides(13.4)).toEqual([13.4, 13.4])
    expect(sides(-180)).toEqual([-180, -180])
  })

  it('reaches from the westernmost to the easternmost one', () => {
    expect(sides(-123.1, 13.4, 2.3)).toEqual([-123.1, 13.4])
  })

  it('reaches across the date line if that is shorter', () => {
    expect(sides(178, -175, 179.5)).toEqual([178, 185])
    expect(sides(170, -170)).toEqual([170, 190])
  })

  it('is the world for devices all around it', () => {
    const { left, right } = boundsAt(...Array.from({ length: 360 }, (_, each) => each - 180))!
    expect(right - left).toBeGreaterThan(0.99)
  })

  it('is seen in each copy of the world', () => {
    const pacific = boundsAt(178, -175)!
    const view = { left: pacific.left - 0.1, right: pacific.right + 0.1, top: 0, bottom: 1 }
    expect(holds(view, pacific)).toBe(true)
    expect(holds({ ...view, left: view.left - 1, right: view.right - 1 }, pacific)).toBe(true)
    expect(holds({ ...view, left: pacific.left + 0.01 }, pacific)).toBe(false)
    expect(holds({ ...view, bottom: pacific.bottom - 0.01 }, pacific)).toBe(false)
  })
})
