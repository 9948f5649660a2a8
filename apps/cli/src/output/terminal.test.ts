import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { escapeControls, onOneLine, withoutControls } from '@selvedge/protocol/redaction'
import { beforeEach, describe, expect, it } from 'vitest'
import { growthOf, linear } from '../../../../tests/harness/cpu.ts'
import { cleanResult, indented } from './clean.ts'
import { createTerminal, type TerminalStreams } from './terminal.ts'

const sources = fileURLToPath(new URL('..', import.meta.url))

describe('the terminal', () => {
  it('is the only way to standard output and standard error', () => {
    const leaks = readdirSync(sources, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && path !== 'output/terminal.ts')
      // It runs in the sandbox of a function, and writes to the log of that function.
      .filter((path) => !path.startsWith('archive/component/host/'))
      .filter((path) =>
        /\bconsole\.\w|process\.std|\bstd(?:out|err)\.write|\.pipe\(|\/dev\/(?:tty\b|std)|'inherit'|stdio: '?(?:1|2)/.test(
          readFileSync(join(sources, path), 'utf8'),
        ),
      )
    // The simulator draws a screen of its own, and cleans what it prints itself.
    expect(leaks).toEqual(['commands/simulate.ts'])
  })
})

describe('what is written to the terminal', () => {
  const written = { out: '', errors: '' }
  const streamFor = (name: keyof typeof written) =>
    new Writable({
      write(chunk, _, done) {
        written[name] += String(chunk)
        done()
      },
    })
  const streams = (isTTY: boolean) =>
    ({
      stdin: new PassThrough(),
      stdout: streamFor('out'),
      stderr: Object.assign(streamFor('errors'), { isTTY }),
    }) as unknown as TerminalStreams
  beforeEach(() => Object.assign(written, { out: '', errors: '' }))

  it('loses its control sequences, whatever its source', () => {
    const terminal = createTerminal(streams(true))
    terminal.out('a\u001b]52;c;eA==\u0007\u009b2J\u202eb\tc\nd')
    terminal.note('e\u001b[2Jf')
    terminal.redraw('g\u001b[5Ah\ni')
    expect(written).toEqual({ out: 'ab\tc\nd\n', errors: 'ef\n\rgh i\u001b[K' })
  })

  it('draws no progress line and asks no question if standard output is not a terminal', async () => {
    const terminal = createTerminal(streams(false))
    terminal.redraw('x')
    expect(await terminal.ask('Sure?')).toBeUndefined()
    expect(written).toEqual({ out: '', errors: '' })
  })
})

describe('foreign text', () => {
  it.each([
    ['\u001b]52;c;ZXZpbA==\u0007', ''],
    ['\u001b]0;title\u001b\\x', 'x'],
    ['\u009d0;title\u009cx', 'x'],
    ['\u001b[31mred\u001b[0m', 'red'],
    ['\u009b2Jx', 'x'],
    ['\u001bPq\u001b\\x', 'x'],
    ['\u001bcx', 'x'],
    ['\u001b\u001b[[mx', 'mx'],
    ['a\u202eb\u2066c\u200fd', 'abcd'],
    ['a\u0000b\u0008c\u007fd\re', 'abcde'],
    ['a\tb\nc', 'a\tb\nc'],
    [
      'Grüße 👩‍👩‍👧 \u05d0\u05d1 \u0645\u06cc\u200c\u062e',
      'Grüße 👩‍👩‍👧 \u05d0\u05d1 \u0645\u06cc\u200c\u062e',
    ],
    ['\u001b]0;unterminated', '0;unterminated'],
  ])('%j is shown as %j', (text, shown) => {
    expect(withoutControls(text)).toBe(shown)
  })

  it('never leaves a control sequence, however sequences are nested', () => {
    const parts = [
      '\u001b',
      '[',
      ']',
      '\u009b',
      '\u009d',
      '\u0007',
      '\u009c',
      '\\',
      '31m',
      '0;x',
      '\n',
      'P',
      '\u202e',
    ]
    let seed = 7
    for (let round = 0; round < 20_000; round++) {
      let text = ''
      for (let at = 0; at < 8; at++) {
        seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
        text += parts[seed % parts.length]
      }
      expect(withoutControls(text)).toMatch(/^[^\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]*$/)
    }
  })

  it.each(['\u001b]', '\u009d', '\u001b[', '\u001b', '\u001b]0;'])(
    'is cleaned in linear time: %j',
    async (part) => {
      expect(await growthOf(10_000, (count) => part.repeat(count), withoutControls)).toBeLessThan(linear)
    },
  )

  it('stays on its line where a line is a row', () => {
    expect(onOneLine('a\r\nb\nc\u2028d')).toBe('a b c d')
    expect(cleanResult({ 'x\n': ['a\nb', 1, null, { y: '\u001b[1mz' }] })).toEqual({
      'x ': ['a b', 1, null, { y: 'z' }],
    })
    expect(indented('a\nhint: b')).toBe('a\n  hint: b')
  })

  it('is escaped in JSON, and its value is unchanged', () => {
    const value = { text: '\u009b\u202e\u2028\u{e0041}\u001b\n\u007f' }
    const json = escapeControls(JSON.stringify(value, undefined, 2))
    expect(json).toBe('{\n  "text": "\\u009b\\u202e\\u2028\\udb40\\udc41\\u001b\\n\\u007f"\n}')
    expect(JSON.parse(json)).toEqual(value)
  })
})
