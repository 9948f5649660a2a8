/// <reference path="../../assets.d.ts" />
import { describe, expect, it, vi } from 'vitest'
import { outlinesOf } from '../../../build/outlines.ts'

vi.mock('virtual:outlines', () => ({ default: '/outlines.json' }))
const { countriesOf } = await import('./outlines.ts')
const { default: atlas } = await import('world-atlas/countries-50m.json')

describe('the outlines of countries', () => {
  const file = outlinesOf(atlas as never)
  const { land, lines, names, cities } = countriesOf(JSON.parse(file))

  it('have each country, and its name within it or beside it', () => {
    expect(land.features.length).toBeGreaterThan(200)
    expect(names.features).toHaveLength(land.features.length)
    const norway = names.features.find(({ properties }) => properties!.name === 'Norway')!
    const [longitude, latitude] = (norway.geometry as { coordinates: number[] }).coordinates
    expect(longitude).toBeGreaterThan(5)
    expect(longitude).toBeLessThan(13)
    expect(latitude).toBeGreaterThan(58)
    expect(latitude).toBeLessThan(71)
  })

  it('have no line across the world, where a country crosses the date line', () => {
    const rings = land.features.flatMap(({ geometry }) =>
      geometry.type === 'MultiPolygon'
        ? geometry.coordinates.flat()
        : (geometry as { coordinates: number[][][] }).coordinates,
    )
    const jumps = [...rings, ...lines.geometry.coordinates].flatMap((line) =>
      line.slice(1).filter(([longitude = 0, latitude = 0], index) => {
        // The lower edge of Antarctica is under the map.
        return latitude > -89 && Math.abs(longitude - line[index]![0]!) > 180
      }),
    )
    expect(jumps.filter(([, latitude = 0]) => latitude > -80)).toEqual([])
  })

  it('have the large cities, the largest first seen', () => {
    const zoomOf = (name: string) =>
      cities.features.find(({ properties }) => properties!.name === name)?.properties?.minZoom
    expect(cities.features.length).toBeGreaterThan(2000)
    expect(zoomOf('Shanghai')).toBeLessThan(zoomOf('Bergen'))
    for (const { geometry, properties } of cities.features) {
      const [longitude = 999, latitude = 999] = (geometry as { coordinates: number[] }).coordinates
      expect(Math.abs(longitude) <= 180 && Math.abs(latitude) <= 85, properties!.name).toBe(true)
    }
  })

  it('are as small as they can be: what the map does not draw is left out', () => {
    expect(Object.keys(JSON.parse(file).topology.objects)).toEqual(['countries'])
    expect(JSON.stringify(JSON.parse(file).topology).length).toBeLessThan(JSON.stringify(atlas).length)
  })
})
