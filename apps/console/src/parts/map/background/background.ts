/**
 * The background that the operator set, over the outlines. Whatever its servers send, those stay: it is
 * added to a map that already works, piece by piece, and a piece that is wrong is left out.
 */
import { addProtocol, type Map as MapLibre, type RequestParameters } from 'maplibre-gl'
import { api } from '../../../api.ts'
import { nameLayerIds, sourceOf } from '../base-style.ts'
import type { FleetMap } from '../fleet-map.ts'
import { BackgroundError, fetchBounded, type Resource } from './fetch-bounded.ts'
import { type BackgroundStyle, prefix, readStyle, tileStyle } from './read-style.ts'

export interface BackgroundEvents {
  /** A message for a person; empty without one. */
  readonly onProblem: (text: string) => void
  /** The owner of the data, as plain text. */
  readonly onAttribution: (text: string) => void
  /** The worker of the map does not answer any more. */
  readonly onStall: () => void
}

const protocol = 'background'
/** How close the map comes to a device by itself when there are streets to see. */
const maxFitZoom = 15
/** Milliseconds between two questions to the worker, and until one counts as not answered. */
const watch = { intervalMs: 5000, timeoutMs: 20_000 }
const maxAttribution = 200

/** @returns how to stop what it follows */
export function openBackground(fleetMap: FleetMap, events: BackgroundEvents): () => void {
  const { map } = fleetMap
  let timer: ReturnType<typeof setInterval> | undefined
  let isClosed = false

  async function open(): Promise<void> {
    const { style: url, hosts } = await api['map.background']()
    if (url === '' || isClosed) return
    addProtocol(protocol, (request, { signal }) => load(request, signal, hosts))
    const style = url.includes('{z}') ? tileStyle(url) : await loadStyle(new URL(url), hosts)
    if (isClosed) return
    map.setTransformRequest((asked, type) => requestOf(asked, type, url))
    timer = setInterval(() => void watchWorker(map, events.onStall), watch.intervalMs)
    fleetMap.camera.setMaxFitZoom(maxFitZoom)
    addTo(map, style, events)
  }
  const isLoaded = new Promise<void>((resolve) => map.once('load', () => resolve()))
  isLoaded.then(open).catch((cause) => events.onProblem(explain(cause)))
  return () => {
    isClosed = true
    clearInterval(timer)
    events.onAttribution('')
  }
}

const explain = (cause: unknown): string =>
  cause instanceof BackgroundError ? `Map background: ${cause.message}` : 'The map background has an error'

async function loadStyle(url: URL, origins: readonly string[]): Promise<BackgroundStyle> {
  const bytes = await fetchBounded(url, 'style', origins)
  return readStyle(new TextDecoder().decode(bytes))
}

const resources: Readonly<Record<string, Resource>> = { Tile: 'tile', Image: 'image', SpriteImage: 'image' }

/** Every request of the library gets an address that leads to {@link load}: no request avoids the limits. */
function requestOf(asked: string, type: string | undefined, style: string): RequestParameters {
  const url = URL.parse(asked, style.replace(/[{}]/g, ''))
  return { url: `${protocol}://${resources[type ?? ''] ?? 'other'}/${url?.href ?? ''}` }
}

async function load({ url, type }: RequestParameters, signal: AbortSignal, origins: readonly string[]) {
  const [, kind = '', address = ''] = /^[a-z]+:\/\/([a-z]+)\/(.*)$/s.exec(url) ?? []
  const target = URL.parse(address)
  if (!target || !/^https?:$/.test(target.protocol))
    throw new BackgroundError('its style names no web address')
  // Tiles that are images, too, are asked for as images.
  const resource = type === 'image' ? 'image' : (kind as Resource)
  const bytes = await fetchBounded(target, resource, origins, signal)
  if (type !== 'json' || !bytes) return { data: bytes?.buffer ?? new ArrayBuffer(0) }
  try {
    return { data: JSON.parse(new TextDecoder().decode(bytes)) }
  } catch {
    throw new BackgroundError(`${target.host.slice(0, 100)} sends something else than JSON`)
  }
}

function addTo(map: MapLibre, style: BackgroundStyle, events: BackgroundEvents): void {
  const onError = (cause: unknown) => {
    events.onProblem(explain(cause))
    showOutlines(map)
  }
  map.on('error', ({ error }) => onError(error))
  map.on('sourcedata', () => events.onAttribution(attributionOf(map, style)))
  /** What a piece is made of may be anything: it is refused by an event or by an exception. */
  const attempt = (add: () => unknown) => {
    try {
      add()
    } catch (cause) {
      onError(cause)
    }
  }
  for (const id of nameLayerIds) attempt(() => map.setLayoutProperty(id, 'visibility', 'none'))
  if (style.glyphs !== undefined) attempt(() => map.setGlyphs(style.glyphs))
  for (const { id, url } of style.sprites) attempt(() => map.addSprite(id, url))
  for (const [id, source] of style.sources) attempt(() => map.addSource(id, source))
  for (const layer of style.layers) attempt(() => map.addLayer(layer))
}

/** What covers everything is hidden, so that the outlines are seen wherever tiles are missing. */
function showOutlines(map: MapLibre): void {
  for (const id of map.getLayersOrder())
    if (id.startsWith(prefix) && map.getLayer(id)?.type === 'background')
      map.setLayoutProperty(id, 'visibility', 'none')
}

/** The text of what may be markup: tags are left out, and the rest is shown as it is. */
function attributionOf(map: MapLibre, { sources }: BackgroundStyle): string {
  const texts = sources.map(([id]) => String(map.getSource(id)?.attribution ?? ''))
  const plain = texts.map((text) =>
    text
      .slice(0, 1000)
      .replace(/<[^>]*>?/g, '')
      .replaceAll('&copy;', '©')
      .trim(),
  )
  return [...new Set(plain)].filter(Boolean).join(' · ').slice(0, maxAttribution)
}

/** The tiles of a background are read by the worker that has the outlines: a tile that it can't finish would stop those. */
async function watchWorker(map: MapLibre, onStall: () => void): Promise<void> {
  const answer = sourceOf(map, 'land')?.getClusterExpansionZoom(0)
  const isStalled = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(true), watch.timeoutMs)
    const done = () => {
      clearTimeout(timer)
      resolve(false)
    }
    // There is no such cluster: that it answers is enough.
    Promise.resolve(answer).then(done, done)
  })
  if (isStalled) onStall()
}
