/** The countries and cities of the map: outlines and names, from a file of the pages. */

import outlinesUrl from 'virtual:outlines'
import type { Feature, FeatureCollection, Geometry, MultiLineString, Position } from 'geojson'
import { feature, mesh } from 'topojson-client'
import type { GeometryCollection, Topology } from 'topojson-specification'
import { unrolled } from './date-line.ts'

export interface Outlines {
  readonly topology: Topology<{ countries: GeometryCollection }>
  readonly labels: readonly Label[]
  readonly cities: readonly Label[]
}

type Label = readonly [name: string, longitude: number, latitude: number, minZoom: number]

export interface Countries {
  readonly land: FeatureCollection
  readonly lines: Feature<MultiLineString>
  readonly names: FeatureCollection
  readonly cities: FeatureCollection
}

/** The browser stores the file: its name has a hash of its content. */
export async function loadCountries(): Promise<Countries> {
  const response = await fetch(outlinesUrl, { redirect: 'error' })
  return countriesOf(await response.json())
}

export function countriesOf({ topology, labels, cities }: Outlines): Countries {
  const { countries } = topology.objects
  return {
    land: {
      type: 'FeatureCollection',
      features: feature(topology, countries).features.map((each) => ({
        ...each,
        geometry: flat(each.geometry),
      })),
    },
    lines: {
      type: 'Feature',
      properties: {},
      geometry: {
        type: 'MultiLineString',
        coordinates: mesh(topology, countries).coordinates.filter(isAwayFromPole).map(unrolled),
      },
    },
    names: pointsOf(labels),
    cities: pointsOf(cities),
  }
}

const pointsOf = (labels: readonly Label[]): FeatureCollection => ({
  type: 'FeatureCollection',
  features: labels.map(([name, longitude, latitude, minZoom]) => ({
    type: 'Feature',
    properties: { name, minZoom },
    geometry: { type: 'Point', coordinates: [longitude, latitude] },
  })),
})

/** A country as a flat map needs it: the topology is that of a globe, and has no edge at the date line or the poles. */
function flat(geometry: Geometry): Geometry {
  const ringsOf = (rings: readonly Position[][]) => rings.filter(isAwayFromPole).map(closedAtPole)
  if (geometry.type === 'Polygon') return { type: 'Polygon', coordinates: ringsOf(geometry.coordinates) }
  if (geometry.type === 'MultiPolygon')
    return { type: 'MultiPolygon', coordinates: geometry.coordinates.map(ringsOf) }
  return geometry
}

/** Antarctica continues to the pole, where its coast on a globe is a ring of a few metres. */
const isAwayFromPole = (line: readonly Position[]): boolean =>
  line.some(([, latitude = 0]) => latitude > -89.9)

/** A ring around the South Pole, that of Antarctica, gets a lower edge: on a flat map it would not be closed. */
function closedAtPole(ring: readonly Position[]): Position[] {
  const line = unrolled(ring)
  const [[start = 0] = [], [end = 0] = []] = [line[0], line.at(-1)]
  return Math.abs(end - start) < 180 ? line : [...line, [end, -90], [start, -90], line[0]!]
}
