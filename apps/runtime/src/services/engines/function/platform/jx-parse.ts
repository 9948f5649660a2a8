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

/** @throws SyntaxError for text that is not `jx`; RangeError for more than `maxDepth` levels */
export function parseJx(text: string): unknown {
  let at = 0

  function fail(): never {
    throw new SyntaxError(`invalid jx at character ${at}`)
  }

  function take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found) at = pattern.lastIndex
    return found ?? undefined
  }

  function takes(literal: string): boolean {
    if (!text.startsWith(literal, at)) return false
    at += literal.length
    return true
  }

  const skip = (): void => void take(patterns.space)

  function unescaped([, simple, x, u, U]: RegExpExecArray): string {
    if (simple !== undefined) return controls[simple] ?? simple
    const point = Number.parseInt((x ?? u ?? U)!, 16)
    return point > 0x10ffff ? fail() : String.fromCodePoint(point)
  }

  /** After its first quote. */
  function string(): string {
    const parts: string[] = []
    while (!takes('"')) {
      const [plain] = take(patterns.plain) ?? []
      if (plain !== undefined) parts.push(plain)
      else parts.push(unescaped(take(patterns.escape) ?? fail()))
    }
    return parts.join('')
  }

  /** After the first bracket: calls `read` for each part up to the last bracket. */
  function list(end: string, read: () => void): void {
    skip()
    if (takes(end)) return
    for (;;) {
      skip()
      read()
      skip()
      if (takes(end)) return
      if (!takes(',')) fail()
    }
  }

  function member(target: object, depth: number): void {
    const key = takes('"') ? string() : (take(patterns.name)?.[0] ?? fail())
    skip()
    if (!takes(':')) fail()
    const member = { value: value(depth), writable: true, enumerable: true, configurable: true }
    // Never a setter: `__proto__` is a name like any other.
    Object.defineProperty(target, key, member)
  }

  function value(depth: number): unknown {
    if (depth > maxDepth) throw new RangeError(`more than ${maxDepth} values inside each other`)
    skip()
    if (takes('"')) return string()
    if (takes('{')) {
      const object = {}
      list('}', () => member(object, depth + 1))
      return object
    }
    if (takes('[')) {
      const array: unknown[] = []
      list(']', () => void array.push(value(depth + 1)))
      return array
    }
    const buffer = take(patterns.buffer)
    if (buffer) return buffer[1]!.length % 2 === 0 ? decodeHex(buffer[1]!) : fail()
    for (const [word, meant] of words) if (takes(word)) return meant
    return Number((take(patterns.number) ?? fail())[0])
  }

  const parsed = value(0)
  skip()
  return at === text.length ? parsed : fail()
}
