/** The countries of the map: their outlines and names, from a file of the pages. */

import outlinesUrl from 'virtual:outlines'
import type { Feature, FeatureCollection, MultiLineString, Position } from 'geojson'
import { feature, mesh } from 'topojson-client'
import type { GeometryCollection, Topology } from 'topojson-specification'

export interface Outlines {
  readonly topology: Topology<{ countries: GeometryCollection }>
  readonly labels: readonly (readonly [name: string, longitude: number, latitude: number, minZoom: number])[]
}

export interface Countries {
  readonly land: FeatureCollection
  readonly lines: Feature<MultiLineString>
  readonly names: FeatureCollection
}

let loading: Promise<Countries> | undefined

/** Loads the file once for all maps of the page; after a failure, the next map tries again. */
export function loadCountries(): Promise<Countries> {
  loading ??= fetch(outlinesUrl, { redirect: 'error' })
    .then((response) => response.json())
    .then(countriesOf)
    .catch((cause) => {
      loading = undefined
      throw cause
    })
  return loading
}

export function countriesOf({ topology, labels }: Outlines): Countries {
  const { countries } = topology.objects
  return {
    land: feature(topology, countries),
    lines: {
      type: 'Feature',
      properties: {},
      geometry: {
        type: 'MultiLineString',
        coordinates: mesh(topology, countries).coordinates.flatMap(withoutCuts),
      },
    },
    names: {
      type: 'FeatureCollection',
      features: labels.map(([name, longitude, latitude, minZoom]) => ({
        type: 'Feature',
        properties: { name, minZoom },
        geometry: { type: 'Point', coordinates: [longitude, latitude] },
      })),
    },
  }
}

/** Whether a point is where the flat map was cut, along the date line and around the South Pole: no coast. */
const isCut = ([longitude = 0, latitude = 0]: Position): boolean =>
  Math.abs(longitude) > 179.99 || latitude < -89.9

/** The parts of a line that are coasts or borders. */
export function withoutCuts(line: readonly Position[]): Position[][] {
  const parts: Position[][] = []
  let part: Position[] = []
  const end = () => {
    if (part.length > 1) parts.push(part)
    part = []
  }
  for (const point of line) {
    const last = part.at(-1)
    if (last && isCut(last) && isCut(point)) end()
    part.push(point)
  }
  end()
  return parts
}
