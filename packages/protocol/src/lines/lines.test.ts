/** Texts that arrive in any parts, and end anywhere. */
import { describe, expect, it } from 'vitest'
import { createLineSplitter, type LineRules, LineTooLong, linesOf, readLines } from './index.ts'

const lf: LineRules = { maxLine: 10, longer: 'split', ends: 'lf' }
const any: LineRules = { ...lf, ends: 'any' }

function split(rules: LineRules, ...parts: string[]): string[] {
  const splitter = createLineSplitter(rules)
  return [...parts.flatMap(splitter), ...splitter.end()]
}

/** The same text as a whole, in two parts at each place, and one character at a time. */
function everyWay(rules: LineRules, text: string): string[][] {
  const cuts = Array.from({ length: text.length + 1 }, (_, at) => [text.slice(0, at), text.slice(at)])
  return [[text], ...cuts, [...text]].map((parts) => split(rules, ...parts))
}

describe('a text that arrives in parts', () => {
  it.each([
    ['a\nb\n', ['a', 'b']],
    ['a\nlast', ['a', 'last']],
    ['last', ['last']],
    ['', []],
    ['\n\na', ['', '', 'a']],
    ['a\r\nb\r\n', ['a', 'b']],
    ['a\r\nlast\r', ['a', 'last']],
    ['10 %\r20 %\n', ['10 %\r20 %']],
    ['0123456789\nb', ['0123456789', 'b']],
    ['0123456789\r\nb', ['0123456789', 'b']],
    ['0123456789abc\n', ['0123456789', 'abc']],
    ['0123456789abcdefghijk', ['0123456789', 'abcdefghij', 'k']],
    ['0123456789abcdefghij\nb', ['0123456789', 'abcdefghij', 'b']],
    ['a\nb\rc\n\rd\r', ['a', 'b\rc', '\rd']],
    ['012345678\r\r\n', ['012345678\r']],
  ])('is the same lines in any parts: %j', (text, lines) => {
    for (const found of everyWay(lf, text)) expect(found).toEqual(lines)
  })

  it.each([
    ['a\rb\nc\r\nd', ['a', 'b', 'c', 'd']],
    ['a\r\n\r\nb\r', ['a', '', 'b']],
    ['\r\r\n\n', ['', '', '']],
  ])('may end its lines with a lone \\r: %j', (text, lines) => {
    for (const found of everyWay(any, text)) expect(found).toEqual(lines)
  })

  it('has the end of a line in two parts, with an empty one between them', () => {
    expect(split(any, 'a\r', '', '\nb')).toEqual(['a', 'b'])
    expect(split(any, 'a\r', 'b', '\nc')).toEqual(['a', 'b', 'c'])
  })

  it('is split into single characters where a line has one', () => {
    expect(split({ ...lf, maxLine: 1 }, 'ab\u{1f600}')).toEqual(['a', 'b', '\ud83d', '\ude00'])
  })

  it('can go on after its end, as a new text', () => {
    const read = createLineSplitter({ ...lf, longer: 'drop' })
    expect([read('last'), read.end(), read('a\n')]).toEqual([[], ['last'], ['a']])
    expect([read('0123456789abc'), read.end(), read('b\n')]).toEqual([[], [], ['b']])
  })

  it('gives what is too long before its end, in whole parts', () => {
    const read = createLineSplitter(lf)
    expect(read('0123456789')).toEqual([])
    expect(read('a')).toEqual(['0123456789'])
    expect(read('bcdefghij\r')).toEqual([])
    expect(read('\n')).toEqual(['abcdefghij'])
    expect(read('0123456789\r')).toEqual([])
    expect(read('x')).toEqual(['0123456789'])
    expect(read.end()).toEqual(['\rx'])
  })

  it('may hold a message in the rest of a line that is dropped, where its beginning is known', () => {
    const trim = (line: string) => line.slice(Math.max(0, line.indexOf('{')))
    const drop: LineRules = { ...lf, longer: 'drop', trim }
    expect(split(drop, '{0123456789abc', 'x{b}\n{c}')).toEqual(['{b}', '{c}'])
    expect(split({ ...lf, longer: 'drop' }, '{0123456789abc', 'x{b}\n{c}')).toEqual(['{c}'])
  })

  it('never splits a character of two code units', () => {
    for (const found of everyWay(lf, 'abcdefghi\u{1f600}jk'))
      expect(found).toEqual(['abcdefghi', '\u{1f600}jk'])
  })

  it('drops a line that is too long up to its end, and nothing else', () => {
    const drop: LineRules = { ...lf, longer: 'drop' }
    for (const found of everyWay(drop, 'a\n0123456789abc\nb')) expect(found).toEqual(['a', 'b'])
    for (const found of everyWay(drop, 'a\n0123456789abc')) expect(found).toEqual(['a'])
    for (const found of everyWay(drop, '0123456789\r\n0123456789'))
      expect(found).toEqual(['0123456789', '0123456789'])
  })

  it('refuses a line that is too long, also before its end', () => {
    const refuse: LineRules = { ...lf, longer: 'refuse' }
    const read = createLineSplitter(refuse)
    expect(read('0123456789')).toEqual([])
    expect(() => read('ab')).toThrow(LineTooLong)
    expect(split(refuse, '0123456789\n0123456789\r\n')).toEqual(['0123456789', '0123456789'])
    expect(() => split(refuse, '0123456789a')).toThrow(
      expect.objectContaining({ name: 'LineTooLong', message: 'a line of more than 10 characters' }),
    )
    expect(() => split(refuse, '0123456789abc\n')).toThrow(LineTooLong)
  })

  it('is not stored beyond the longest line', () => {
    const read = createLineSplitter(lf)
    for (let at = 0; at < 1000; at++) expect(read('x'.repeat(10)).length).toBeLessThan(3)
    expect(read.end().join('').length).toBeLessThanOrEqual(10)
  })
})

const bytes = (text: string) => new Uint8Array(Buffer.from(text))

describe('a stream of bytes', () => {
  it('keeps a character if its bytes arrive in two parts, and shows an incomplete one at the end', async () => {
    const lines: string[] = []
    await readLines(
      lf,
      (line) => lines.push(line),
      async (take) => {
        for (const byte of bytes('ä\n\u{1f600}')) take(Uint8Array.of(byte))
        take(Uint8Array.of(0xf0, 0x9f))
      },
    )
    expect(lines).toEqual(['ä', '\u{1f600}\ufffd'])
  })

  it('is the same lines where characters are cut, with the mark at its beginning', async () => {
    async function* stream() {
      for (const byte of bytes('\ufeffä\nü')) yield Uint8Array.of(byte)
    }
    const lines: string[] = []
    for await (const line of linesOf(stream(), lf)) lines.push(line)
    expect(lines).toEqual(['\ufeffä', 'ü'])
  })

  it('gives its last words before its failure', async () => {
    const lines: string[] = []
    const reading = readLines(
      lf,
      (line) => lines.push(line),
      async (take) => {
        take(bytes('a\nfatal'))
        throw new Error('reset')
      },
    )
    await expect(reading).rejects.toThrow('reset')
    expect(lines).toEqual(['a', 'fatal'])
  })

  it('is lines up to its end, and none of a part when it fails', async () => {
    const read = async (isFailing: boolean) => {
      const lines: string[] = []
      async function* stream() {
        yield bytes('a\nb')
        yield bytes('c')
        if (isFailing) throw new Error('reset')
      }
      const failure = await (async () => {
        for await (const line of linesOf(stream(), lf)) lines.push(line)
      })().catch((cause: Error) => cause.message)
      return { lines, failure }
    }
    expect(await read(false)).toEqual({ lines: ['a', 'bc'], failure: undefined })
    expect(await read(true)).toEqual({ lines: ['a'], failure: 'reset' })
  })
})
