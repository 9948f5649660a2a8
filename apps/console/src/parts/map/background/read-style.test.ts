import { describe, expect, it } from 'vitest'
import { readStyle, tileStyle } from './read-style.ts'

const styleOf = (style: object) =>
  readStyle(JSON.stringify({ version: 8, sources: {}, layers: [], ...style }))
const deep = (depth: number) => `${'['.repeat(depth)}1${']'.repeat(depth)}`

const layerWith = (filter: unknown) =>
  JSON.stringify({ version: 8, sources: {}, layers: [{ id: 'a', type: 'background', filter }] })
/** Needs two to the power of `times` steps. */
const doubled = (times: number): unknown =>
  times === 0 ? 1 : ['let', 'a', doubled(times - 1), ['+', ['var', 'a'], ['var', 'a']]]

describe('the style of a background', () => {
  it('has names of its own, so that it replaces nothing of the map', () => {
    const { sources, layers } = styleOf({
      sources: { land: { type: 'vector', url: 'https://tiles.example/a.json' } },
      layers: [
        { id: 'land', type: 'fill', source: 'land' },
        { id: 'sea', type: 'background' },
      ],
    })
    expect(sources.map(([id]) => id)).toEqual(['background/land'])
    expect(layers).toEqual([
      { id: 'background/land', type: 'fill', source: 'background/land' },
      { id: 'background/sea', type: 'background' },
    ])
  })

  it('brings no videos, images in place or canvases, and nothing but sources, layers, symbols and fonts', () => {
    const read = styleOf({
      sources: {
        video: { type: 'video', urls: ['https://a.example/v.mp4'] },
        image: { type: 'image', url: 'https://a.example/i.png' },
        canvas: { type: 'canvas', canvas: 'app' },
        none: null,
        list: [],
        text: 'vector',
      },
      layers: [null, 1, 'fill', []],
      sprite: [{ id: 'a', url: 'https://a.example/s' }, { id: 1, url: 2 }, null],
      glyphs: { toString: 'x' },
      center: [1, 2],
      zoom: 22,
      projection: { type: 'globe' },
      terrain: { source: 'x' },
      'font-faces': { a: 'https://a.example/f.woff2' },
    })
    expect(read).toEqual({
      sources: [],
      layers: [],
      sprites: [{ id: 'a', url: 'https://a.example/s' }],
      glyphs: undefined,
    })
  })

  it('may have the expressions of large public styles', () => {
    expect(
      readStyle(layerWith(['match', ['get', 'class'], ...new Array(4000).fill('road'), 1])).layers,
    ).toHaveLength(1)
    expect(readStyle(layerWith(doubled(10))).layers).toHaveLength(1)
  })

  it('may call its parts what it likes', () => {
    const { sources } = readStyle('{"version":8,"layers":[],"sources":{"__proto__":{"type":"raster"}}}')
    expect(sources.map(([id]) => id)).toEqual(['background/__proto__'])
  })

  it.each([
    ['a page', '<!doctype html>', 'not JSON'],
    ['nothing', '', 'not JSON'],
    ['a list', '[]', 'not JSON'],
    ['null', 'null', 'not JSON'],
    ['of another version', '{"version":7,"sources":{},"layers":[]}', 'not a MapLibre style'],
    ['without layers', '{"version":8,"sources":{}}', 'not a MapLibre style'],
    ['with a list of sources', '{"version":8,"sources":[],"layers":[]}', 'not a MapLibre style'],
    ['very deep', `{"version":8,"sources":{},"layers":[],"x":${deep(100_000)}}`, 'too large'],
    [
      'of too many layers',
      JSON.stringify({ version: 8, sources: {}, layers: new Array(1001).fill({}) }),
      'too large',
    ],
    ['a layer of endless work: a long list', layerWith(new Array(5000).fill(1)), 'too large'],
    ['a layer of endless work: a long text', layerWith(['in', 'a', 'b'.repeat(501)]), 'too large'],
    ['a layer of endless work: variables in variables', layerWith(doubled(11)), 'too large'],
    [
      'of too many sources',
      JSON.stringify({
        version: 8,
        layers: [],
        sources: Object.fromEntries(Array.from({ length: 33 }, (_, each) => [each, {}])),
      }),
      'too large',
    ],
  ])('is refused if it is %s', (_, text, message) => {
    expect(() => readStyle(text)).toThrow(message)
  })

  it('is one layer of images for a template of tiles', () => {
    const { sources, layers } = tileStyle('https://tiles.example/{z}/{x}/{y}.png')
    expect(sources).toHaveLength(1)
    expect(layers).toMatchObject([{ type: 'raster', source: sources[0]![0] }])
  })
})
