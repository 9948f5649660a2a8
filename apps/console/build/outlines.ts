/**
 * The countries and cities of the map, as one file of the pages: outlines of Natural Earth 1:50m as TopoJSON, without what the map does
 * not draw, and a place for each name. Made when the pages are built.
 */
import { feature } from 'topojson-client'
import type { GeometryCollection, Topology } from 'topojson-specification'
import type { Plugin } from 'vite'
import atlas from 'world-atlas/countries-50m.json' with { type: 'json' }
import { cityLabels } from './cities.ts'
import { labelOf } from './labels.ts'

type Atlas = Topology<{ countries: GeometryCollection<{ name: string }>; land: GeometryCollection }>

/** @returns JSON of `Outlines` in `src/parts/map/outlines.ts` */
export function outlinesOf({ objects, ...topology }: Atlas): string {
  const { countries } = objects
  const named = feature({ ...topology, objects }, countries)
  return JSON.stringify({
    topology: {
      type: topology.type,
      transform: topology.transform,
      arcs: topology.arcs,
      objects: {
        countries: {
          type: countries.type,
          geometries: countries.geometries.map((each) => ({
            type: each.type,
            ...('arcs' in each && { arcs: each.arcs }),
          })),
        },
      },
    },
    labels: named.features.map(labelOf).filter((label) => label !== undefined),
    cities: cityLabels(),
  })
}

const virtualId = 'virtual:outlines'

/** Gives `virtual:outlines` the URL of the file. */
export function outlines(): Plugin {
  return {
    name: 'outlines',
    resolveId: (id) => (id === virtualId ? `\0${virtualId}` : undefined),
    load(id) {
      if (id !== `\0${virtualId}`) return undefined
      const source = outlinesOf(atlas as unknown as Atlas)
      const file = this.emitFile({ type: 'asset', name: 'outlines.json', source })
      return `export default import.meta.ROLLUP_FILE_URL_${file}`
    },
  }
}
