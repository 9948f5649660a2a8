/** Source maps come with a function, and a function may be of anyone. */
import { describe, expect, it } from 'vitest'
import { growthOf, linear } from '../../../../../../../tests/harness/cpu.ts'
import { readBundle } from './source-map.ts'

const marker = '\n//# sourceMappingURL=data:application/json;charset=utf-8;base64,'
const inline = (map: unknown): string =>
  marker + Buffer.from(typeof map === 'string' ? map : JSON.stringify(map)).toString('base64')
const map = { version: 3, names: [], sources: ['src/index.ts', 'b.ts'] }
const code = 'a\nb\nc'

describe('a source map', () => {
  it('names file, line and column, and is no longer in the source', () => {
    // Line 1 is line 3 of the first file, and from column 9 on line 1 of the second; line 3 has one segment at its column 5.
    const { code: source, find } = readBundle(`${code}${inline({ ...map, mappings: 'AAEA,QCFC;;IDEE' })}\n`)
    expect(source.trimEnd()).toBe(code)
    expect([find(1, 1), find(1, 8), find(1, 9), find(1, 999)]).toEqual([
      { file: 'src/index.ts', line: 3, column: 1 },
      { file: 'src/index.ts', line: 3, column: 1 },
      { file: 'b.ts', line: 1, column: 2 },
      { file: 'b.ts', line: 1, column: 2 },
    ])
    expect([find(2, 1), find(3, 4), find(4, 1), find(0, 0), find(-1, -1)]).toEqual(Array(5).fill(undefined))
    expect(find(3, 5)).toEqual({ file: 'src/index.ts', line: 3, column: 4 })
  })

  it('agrees with the decoder of Node.js, for the map of a real bundle', async () => {
    const { rolldown } = await import('rolldown')
    const { SourceMap } = await import('node:module')
    const build = await rolldown({ input: import.meta.filename.replace('.test', ''), platform: 'neutral' })
    const { output } = await build.generate({ sourcemap: 'hidden' })
    await build.close()
    const { code: bundled, map: own } = output[0]
    const { find } = readBundle(bundled + inline(own))
    const other = new SourceMap(own as never)
    let compared = 0
    for (const [line, text] of bundled.split('\n').entries())
      for (let column = 0; column < text.length; column++) {
        const entry = other.findEntry(line, column) as {
          originalSource?: string
          originalLine: number
          originalColumn: number
          generatedLine: number
        }
        if (entry.originalSource === undefined || entry.generatedLine !== line) continue
        compared++
        expect(find(line + 1, column + 1)).toEqual({
          file: entry.originalSource,
          line: entry.originalLine + 1,
          column: entry.originalColumn + 1,
        })
      }
    expect(compared).toBeGreaterThan(1000)
  })

  it.each([
    ['not base64', `${marker}@@@`],
    ['not JSON', inline('{')],
    ['null', inline('null')],
    ['a list', inline('[]')],
    ['no mappings', inline(map)],
    ['mappings that are no text', inline({ ...map, mappings: { length: 1e9 } })],
    ['sources that are no list', inline({ ...map, sources: 'abc', mappings: 'AAAA' })],
    ['sources that are no texts', inline({ ...map, sources: [{ toString: 1 }], mappings: 'AAAA' })],
    ['a source that is not there', inline({ ...map, mappings: 'AgyBAA' })],
    ['a digit that base64 does not have', inline({ ...map, mappings: 'A*AA' })],
    ['a number without an end', inline({ ...map, mappings: 'gggggggggggggggg' })],
    ['too many fields', inline({ ...map, mappings: 'AAAAAAAAAA' })],
    ['segments without a source', inline({ ...map, mappings: 'A,C,E' })],
    ['more than its limit', marker + 'A'.repeat(4 * 1024 * 1024 + 1)],
    ['nothing', marker],
  ])('that is wrong is ignored: %s', (_, text) => {
    const { code: source, find } = readBundle(code + text)
    expect(source.trimEnd()).toBe(code)
    expect(find(1, 1)).toBeUndefined()
  })

  it('that is not the last line is a text of the function', () => {
    const source = `${inline({ ...map, mappings: 'AAAA' })}\nconst a = 1`
    expect(readBundle(source).code).toBe(source)
  })

  it('of the largest size is decoded in linear time', async () => {
    const bundleOf = (segments: number) => inline({ ...map, mappings: 'AAAC,'.repeat(segments) })
    const decode = (bundle: string) => readBundle(bundle).find(1, 1)
    expect(await growthOf(10_000, bundleOf, decode)).toBeLessThan(linear)
  })
})
