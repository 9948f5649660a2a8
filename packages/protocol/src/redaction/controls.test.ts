/** Foreign text changes nothing on a terminal, and stays on its line. */
import { describe, expect, it } from 'vitest'
import { escapeControls, onOneLine, withoutControls } from './controls.ts'

const esc = '\x1b'

describe('text on a terminal', () => {
  it.each([
    ['a colour', `a${esc}[31mb`],
    ['a colour with parts', `a${esc}[1;31;40mb`],
    ['a sequence with an intermediate', `a${esc}[1 qb`],
    ['a private mode', `a${esc}[?25lb`],
    ['a sequence in one byte', 'a\x9b31mb'],
    ['a title that a bell ends', `a${esc}]0;title\x07b`],
    ['a title that ST ends', `a${esc}]0;title${esc}\\b`],
    ['a title that one byte ends', `a${esc}]0;title\x9cb`],
    ['the clipboard', `a${esc}]52;c;c2VjcmV0\x07b`],
    ['an operating system command in one byte', 'a\x9d0;title\x9cb'],
    ['a device control string', `a${esc}Ptext${esc}\\b`],
    ['a device control string in one byte', 'a\x90text\x9cb'],
    ['a start of string', `a${esc}Xtext${esc}\\b`],
    ['a start of string in one byte', 'a\x98text\x9cb'],
    ['a privacy message', `a${esc}^text${esc}\\b`],
    ['a privacy message in one byte', 'a\x9etext\x9cb'],
    ['an application command', `a${esc}_text${esc}\\b`],
    ['an application command in one byte', 'a\x9ftext\x9cb'],
    ['a character set', `a${esc}(0b`],
    ['a reset', `a${esc}cb`],
    ['an escape alone', `a${esc}\nb`.replace('\n', '')],
    ['a carriage return', 'a\rb'],
    ['a backspace', 'a\bb'],
    ['a bell', 'a\x07b'],
    ['a null', 'a\0b'],
    ['delete', 'a\x7fb'],
    ['a control of C1', 'a\x85b'],
    ['a bidirectional override', 'a\u202eb'],
    ['a bidirectional isolate', 'a\u2066b'],
    ['a line separator', 'a\u2028b'],
    ['a paragraph separator', 'a\u2029b'],
    ['a space of no width', 'a\u200bb'],
    ['a word joiner', 'a\u2060b'],
    ['an invisible plus', 'a\u2064b'],
    ['a byte order mark', 'a\ufeffb'],
    ['an interlinear mark', 'a\ufffab'],
    ['a tag', 'a\u{e0041}b'],
  ])('has not %s', (what, text) => {
    // What is an escape with the letter that follows it is removed whole.
    expect(withoutControls(text)).toBe(what === 'an escape alone' ? 'a' : 'ab')
  })

  it('removes what an unfinished sequence begins with, and shows its rest', () => {
    expect(withoutControls(`a${esc}]0;title`)).toBe('a0;title')
    expect(withoutControls(`a${esc}]0;one\ntwo\x07b`)).toBe('a0;one\ntwob')
  })

  it('leaves all other text as it is, with its tabs and lines', () => {
    const text = 'Grüße, 日本語 \u{1f600} a\tb\nc [31m ]0; \\ "x" é\u0301'
    expect(withoutControls(text)).toBe(text)
  })
})

it('text on one line has neither a line break nor a separator; tabs stay', () => {
  expect(onOneLine('a\nb\r\nc\rd\u2028e\u2029f\tg')).toBe('a b c d e f\tg')
  expect(onOneLine(`a${esc}[31m\nb`)).toBe('a b')
})

describe('JSON on a terminal', () => {
  it.each(['a\x7fb', 'a\x9bb', 'a\u202eb', 'a\u{e0041}b', 'a\u2028b', 'é\u0085', '\u{1f600}\u200b'])(
    'has the same value, with nothing but what can be shown: %j',
    (value) => {
      const json = escapeControls(JSON.stringify({ [value]: [value] }))
      expect(JSON.parse(json)).toEqual({ [value]: [value] })
      expect(withoutControls(json)).toBe(json)
    },
  )

  it('is as it was where nothing is to be escaped', () => {
    for (const json of ['{"a": "b"}\n\t', '{"a":"é 日本"}', '']) expect(escapeControls(json)).toBe(json)
    expect(escapeControls('"a\u0085"')).toBe('"a\\u0085"')
    expect(escapeControls('"\u{e0041}"')).toBe('"\\udb40\\udc41"')
  })
})
