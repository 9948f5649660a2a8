/** The map without any other host: sea, and countries and cities with their names. It stays, whatever is shown over it. */
import type { GeoJSONSource, Map as MapLibre, StyleSpecification } from 'maplibre-gl'
import { unrolled } from './date-line.ts'
import type { Countries } from './outlines.ts'
import type { Palette } from './palette.ts'
import type { Trail } from './trail.ts'

/** A background has names of its own. */
export const nameLayerIds: readonly string[] = ['names', 'cities', 'city-dots']

const empty = { type: 'FeatureCollection' as const, features: [] }

export const baseStyle = (palette: Palette): StyleSpecification => ({
  version: 8,
  sources: {
    land: { type: 'geojson', data: empty, maxzoom: 8 },
    lines: { type: 'geojson', data: empty, maxzoom: 8 },
    names: { type: 'geojson', data: empty, maxzoom: 8 },
    cities: { type: 'geojson', data: empty, maxzoom: 8 },
    trail: { type: 'geojson', data: empty },
  },
  layers: [
    { id: 'sea', type: 'background', paint: { 'background-color': palette.sea } },
    { id: 'land', type: 'fill', source: 'land', paint: { 'fill-color': palette.land } },
    {
      id: 'lines',
      type: 'line',
      source: 'lines',
      layout: { 'line-join': 'round' },
      paint: { 'line-color': palette.edge, 'line-width': 0.8 },
    },
    {
      id: 'trail',
      type: 'line',
      source: 'trail',
      layout: { 'line-join': 'round', 'line-cap': 'round' },
      paint: { 'line-color': palette.accent, 'line-width': 2 },
    },
    {
      id: 'city-dots',
      type: 'circle',
      source: 'cities',
      filter: ['>=', ['zoom'], ['get', 'minZoom']],
      paint: { 'circle-color': palette.soft, 'circle-radius': 2 },
    },
    {
      id: 'cities',
      type: 'symbol',
      source: 'cities',
      filter: ['>=', ['zoom'], ['get', 'minZoom']],
      layout: {
        'text-field': ['get', 'name'],
        'text-font': ['Inter Selvedge', 'system-ui'],
        'text-size': 11,
        'text-max-width': 8,
        'text-variable-anchor': ['left', 'right', 'top', 'bottom'],
        'text-radial-offset': 0.5,
        'symbol-sort-key': ['get', 'minZoom'],
      },
      paint: { 'text-color': palette.soft, 'text-halo-color': palette.land, 'text-halo-width': 1 },
    },
    {
      id: 'names',
      type: 'symbol',
      source: 'names',
      filter: ['>=', ['zoom'], ['get', 'minZoom']],
      layout: {
        'text-field': ['get', 'name'],
        // Without a URL of glyphs, the map draws them itself with fonts of the page.
        'text-font': ['Inter Selvedge', 'system-ui'],
        'text-size': 11,
        'text-max-width': 8,
        'symbol-sort-key': ['get', 'minZoom'],
      },
      paint: { 'text-color': palette.soft, 'text-halo-color': palette.land, 'text-halo-width': 1 },
    },
  ],
})

export const sourceOf = (map: MapLibre, id: string) => map.getSource(id) as GeoJSONSource | undefined

export function showCountries(map: MapLibre, countries: Countries): void {
  void sourceOf(map, 'land')?.setData(countries.land)
  void sourceOf(map, 'lines')?.setData(countries.lines)
  void sourceOf(map, 'names')?.setData(countries.names)
  void sourceOf(map, 'cities')?.setData(countries.cities)
}

/** The way of a device, oldest point first. */
export function showTrail(map: MapLibre, trail: Trail): void {
  const coordinates = unrolled(trail.map((point) => [...point]))
  void sourceOf(map, 'trail')?.setData({ type: 'LineString', coordinates })
}

export function paintBase(map: MapLibre, palette: Palette): void {
  map.setPaintProperty('sea', 'background-color', palette.sea)
  map.setPaintProperty('land', 'fill-color', palette.land)
  map.setPaintProperty('lines', 'line-color', palette.edge)
  map.setPaintProperty('trail', 'line-color', palette.accent)
  map.setPaintProperty('city-dots', 'circle-color', palette.soft)
  for (const id of ['names', 'cities']) {
    map.setPaintProperty(id, 'text-color', palette.soft)
    map.setPaintProperty(id, 'text-halo-color', palette.land)
  }
}
