/** A style of a background, reduced to what may be shown: the rest of it has no effect. */
import type { LayerSpecification, SourceSpecification } from 'maplibre-gl'
import { BackgroundError } from './fetch-bounded.ts'

export interface BackgroundStyle {
  readonly sources: readonly (readonly [id: string, source: SourceSpecification])[]
  readonly layers: readonly LayerSpecification[]
  readonly sprites: readonly { readonly id: string; readonly url: string }[]
  readonly glyphs: string | undefined
}

/** Of what a style may have. Large public styles have 200 layers, and nest their expressions 20 deep. */
const limits = { sources: 32, layers: 1000, sprites: 8, depth: 64 }
/**
 * Of one layer. The page computes its expressions for every picture: lists and texts are searched once for each operator beside
 * them, and a variable in a variable doubles the work each time.
 */
const layerLimits = { values: 5000, textLength: 500, variables: 20 }
const sourceTypes: ReadonlySet<unknown> = new Set(['vector', 'raster', 'raster-dem', 'geojson'])
/** Names of a style are its own: they differ from those of an outline or of the devices. */
export const prefix = 'background/'

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** @throws BackgroundError */
export function readStyle(text: string): BackgroundStyle {
  const style = parse(text)
  const { version, sources, layers, sprite, glyphs } = style
  if (version !== 8 || !isObject(sources) || !Array.isArray(layers))
    throw new BackgroundError('the answer of console.mapStyle is not a MapLibre style')
  if (
    Object.keys(sources).length > limits.sources ||
    layers.length > limits.layers ||
    isDeep(style) ||
    layers.some(isCostly)
  )
    throw new BackgroundError('the style of console.mapStyle is too large')
  return {
    sources: Object.entries(sources).flatMap(([id, source]) =>
      isObject(source) && sourceTypes.has(source.type)
        ? [[prefix + id, source as unknown as SourceSpecification] as const]
        : [],
    ),
    layers: layers.filter(isObject).map(prefixed),
    sprites: spritesOf(sprite).slice(0, limits.sprites),
    glyphs: typeof glyphs === 'string' ? glyphs : undefined,
  }
}

function parse(text: string): Json {
  try {
    const style: unknown = JSON.parse(text)
    if (isObject(style)) return style
  } catch {
    // Below.
  }
  throw new BackgroundError('the answer of console.mapStyle is not JSON')
}

/** Without recursion: depth is what is looked for. */
function isDeep(style: Json): boolean {
  let level: unknown[] = [style]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limits.depth) return true
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []))
  }
  return false
}

/** The values of a JSON value that is not deep. */
function* valuesIn(value: unknown): Generator<unknown> {
  yield value
  if (typeof value === 'object' && value !== null)
    for (const each of Object.values(value)) yield* valuesIn(each)
}

function isCostly(layer: unknown): boolean {
  let values = 0
  let variables = 0
  for (const value of valuesIn(layer)) {
    values++
    if (value === 'var') variables++
    if (typeof value === 'string' && value.length > layerLimits.textLength) return true
    if (values > layerLimits.values || variables > layerLimits.variables) return true
  }
  return false
}

function prefixed(layer: Json): LayerSpecification {
  const source = typeof layer.source === 'string' ? { source: prefix + layer.source } : {}
  return { ...layer, ...source, id: `${prefix}${String(layer.id)}` } as unknown as LayerSpecification
}

function spritesOf(sprite: unknown): { id: string; url: string }[] {
  if (typeof sprite === 'string') return [{ id: 'default', url: sprite }]
  if (!Array.isArray(sprite)) return []
  return sprite.flatMap((each) =>
    isObject(each) && typeof each.id === 'string' && typeof each.url === 'string'
      ? [{ id: each.id, url: each.url }]
      : [],
  )
}

/** Tiles that are images: the template is all that the setting has. */
export const tileStyle = (template: string): BackgroundStyle => ({
  sources: [[`${prefix}tiles`, { type: 'raster', tiles: [template], tileSize: 256, maxzoom: 19 }]],
  layers: [{ id: `${prefix}tiles`, type: 'raster', source: `${prefix}tiles` }],
  sprites: [],
  glyphs: undefined,
})
