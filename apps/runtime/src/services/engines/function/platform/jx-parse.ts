/** Reads `jx`, the readable JSON of Duktape. */
import { decodeHex } from './binary-text.ts'
import { maxDepth } from './jx-write.ts'

const words: readonly (readonly [word: string, value: unknown])[] = [
  ['null', null],
  ['true', true],
  ['false', false],
  ['undefined', undefined],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]
const patterns = {
  space: /[ \t\r\n]*/y,
  number: /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y,
  name: /[A-Za-z_$][\w$]*/y,
  plain: /[^"\\\x00-\x1f]+/y,
  escape: /\\(?:(["\\/bfnrt])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/y,
  buffer: /\|([0-9a-fA-F]*)\|/y,
}
const controls: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

interface Reader {
  /** Reads what a sticky pattern finds. */
  take(pattern: RegExp): RegExpExecArray | undefined
  /** Whether a text is next; then it is read. */
  accept(literal: string): boolean
  skipSpace(): void
  isAtEnd(): boolean
  fail(): never
}

function createReader(text: string): Reader {
  let at = 0
  const take: Reader['take'] = (pattern) => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found) at = pattern.lastIndex
    return found ?? undefined
  }
  return {
    take,
    accept(literal) {
      if (!text.startsWith(literal, at)) return false
      at += literal.length
      return true
    },
    skipSpace: () => void take(patterns.space),
    isAtEnd: () => at === text.length,
    fail() {
      throw new SyntaxError(`invalid jx at character ${at}`)
    },
  }
}

/** Reads a string after its first quote. */
function readString(reader: Reader): string {
  const parts: string[] = []
  while (!reader.accept('"')) {
    const [plain] = reader.take(patterns.plain) ?? []
    parts.push(plain ?? unescaped(reader, reader.take(patterns.escape) ?? reader.fail()))
  }
  return parts.join('')
}

function unescaped(reader: Reader, [, simple, x, u, U]: RegExpExecArray): string {
  if (simple !== undefined) return controls[simple] ?? simple
  const point = Number.parseInt((x ?? u ?? U)!, 16)
  return point > 0x10ffff ? reader.fail() : String.fromCodePoint(point)
}

/** Reads a list after its first bracket. @param readPart is called for each part up to the last bracket */
function readList(reader: Reader, end: string, readPart: () => void): void {
  reader.skipSpace()
  if (reader.accept(end)) return
  for (;;) {
    reader.skipSpace()
    readPart()
    reader.skipSpace()
    if (reader.accept(end)) return
    if (!reader.accept(',')) reader.fail()
  }
}

function readMember(reader: Reader, target: object, depth: number): void {
  const key = reader.accept('"') ? readString(reader) : (reader.take(patterns.name)?.[0] ?? reader.fail())
  reader.skipSpace()
  if (!reader.accept(':')) reader.fail()
  const member = { value: readValue(reader, depth), writable: true, enumerable: true, configurable: true }
  // Never a setter: `__proto__` is a name like any other.
  Object.defineProperty(target, key, member)
}

function readValue(reader: Reader, depth: number): unknown {
  if (depth > maxDepth) throw new RangeError(`more than ${maxDepth} values inside each other`)
  reader.skipSpace()
  if (reader.accept('"')) return readString(reader)
  if (reader.accept('{')) {
    const object = {}
    readList(reader, '}', () => readMember(reader, object, depth + 1))
    return object
  }
  if (reader.accept('[')) {
    const array: unknown[] = []
    readList(reader, ']', () => void array.push(readValue(reader, depth + 1)))
    return array
  }
  const buffer = reader.take(patterns.buffer)
  if (buffer) return buffer[1]!.length % 2 === 0 ? decodeHex(buffer[1]!) : reader.fail()
  for (const [word, meant] of words) if (reader.accept(word)) return meant
  return Number((reader.take(patterns.number) ?? reader.fail())[0])
}

/** @throws SyntaxError for text that is not `jx`; RangeError for more than `maxDepth` levels */
export function parseJx(text: string): unknown {
  const reader = createReader(text)
  const parsed = readValue(reader, 0)
  reader.skipSpace()
  return reader.isAtEnd() ? parsed : reader.fail()
}
