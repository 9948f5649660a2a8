/** Removes secrets from a log as one text: a secret can be on several lines, and each of its lines can stand alone. */
import { withoutControls } from '@selvedge/protocol/redaction'
import { formsOf } from './forms.ts'

/** Characters from which a secret is found also with white space in it, and anywhere inside of a word. */
const lengths = { spaced: 8, anywhere: 4, overlapping: 200 }

const beginOfKey = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g
const endOfKey = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g

/**
 * The same lines without secrets and private keys (RFC 7468).
 *
 * @param secrets of any length. One of fewer than four characters is removed only as a whole word
 */
export function maskLines(lines: readonly string[], secrets: readonly string[]): string[] {
  const text = lines.map(withoutControls).join('\n')
  const hidden = new Uint8Array(text.length)
  hideKeys(text, hidden)
  const dense = denseOf(text)
  for (const form of new Set(secrets.flatMap(partsOf).flatMap(formsIn))) {
    const word = form.replaceAll(/\s/g, '')
    if (word.length >= lengths.spaced) {
      for (const at of findAll(dense.text, word))
        hidden.fill(1, dense.positions[at], dense.positions[at + word.length - 1]! + 1)
    } else if (form !== '')
      for (const at of findAll(text, form))
        if (form.length >= lengths.anywhere || isWord(text, at, form.length))
          hidden.fill(1, at, at + form.length)
  }
  return shown(text, hidden)
}

/** A secret, and each of its lines. Line feeds of a variable are often written as `\n`. */
const partsOf = (secret: string): string[] => [
  secret,
  ...secret.split(/[\r\n]|(?:\\r)?\\n/).map((line) => line.trim()),
]

const formsIn = (part: string): string[] => (part.length < lengths.anywhere ? [part] : formsOf(part))

function* findAll(text: string, word: string): Generator<number> {
  const step = word.length > lengths.overlapping ? word.length : 1
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + step)) yield at
}

const isWord = (text: string, at: number, length: number): boolean =>
  !/[\p{L}\p{N}]/u.test(`${text[at - 1] ?? ''}${text[at + length] ?? ''}`)

/** The text without white space, and where each character of it was. */
function denseOf(text: string): { text: string; positions: Uint32Array } {
  const positions = new Uint32Array(text.length)
  let count = 0
  const dense = text.replaceAll(/\S+/g, (word, at: number) => {
    for (let index = 0; index < word.length; index++) positions[count++] = at + index
    return word
  })
  return { text: dense.replaceAll(/\s+/g, ''), positions }
}

/** Without its end, a key continues to the end of the text; without its beginning, it began before the text. */
function hideKeys(text: string, hidden: Uint8Array): void {
  for (const { index, 0: found } of text.matchAll(beginOfKey)) {
    const close = text.indexOf('-----END', index + found.length)
    const lineEnd = close < 0 ? -1 : text.indexOf('\n', close)
    hidden.fill(1, index, lineEnd < 0 ? text.length : lineEnd)
  }
  for (const { index, 0: found } of text.matchAll(endOfKey))
    if (!hidden[index]) hidden.fill(1, 0, index + found.length)
}

function shown(text: string, hidden: Uint8Array): string[] {
  let result = ''
  let wasHidden = false
  for (let at = 0; at < text.length; at++) {
    const isBreak = text[at] === '\n'
    if (isBreak || !hidden[at]) result += text[at]
    else if (!wasHidden) result += '<redacted>'
    wasHidden = !isBreak && hidden[at] === 1
  }
  return result.split('\n')
}
