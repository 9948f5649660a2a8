/** Writes the JSON formats of Duktape: `jx` is short and readable, `jc` is JSON with objects for what JSON cannot say. */
import { encodeHex } from './binary-text.ts'

export type JsonFormat = 'jx' | 'jc'

/** Values inside each other. */
export const maxDepth = 500

interface Special {
  readonly jx: string
  readonly jc: string
}

const specials = {
  undefined: { jx: 'undefined', jc: '{"_undef":true}' },
  nan: { jx: 'NaN', jc: '{"_nan":true}' },
  infinity: { jx: 'Infinity', jc: '{"_inf":true}' },
  negativeInfinity: { jx: '-Infinity', jc: '{"_ninf":true}' },
  function: { jx: '{_func:true}', jc: '{"_func":true}' },
} as const satisfies Record<string, Special>

const identifier = /^[A-Za-z_$][\w$]*$/

const short: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

const hexOf = (value: number, digits: number): string => value.toString(16).padStart(digits, '0')

/** A string with nothing but ASCII. */
function quote(text: string, format: JsonFormat): string {
  const escapeOne = (character: string): string => {
    const known = short[character]
    if (known !== undefined) return known
    const point = character.codePointAt(0)!
    if (format === 'jx' && point < 256) return `\\x${hexOf(point, 2)}`
    if (format === 'jx' && point > 0xffff) return `\\U${hexOf(point, 8)}`
    return Array.from(
      { length: character.length },
      (_, at) => `\\u${hexOf(character.charCodeAt(at), 4)}`,
    ).join('')
  }
  return `"${text.replace(/["\\]|[^\x20-\x7e]/gu, escapeOne)}"`
}

function quoteNumber(value: number, format: JsonFormat): string {
  if (Number.isNaN(value)) return specials.nan[format]
  if (Number.isFinite(value)) return Object.is(value, -0) ? '-0' : String(value)
  return specials[value > 0 ? 'infinity' : 'negativeInfinity'][format]
}

const bytesIn = (value: object): Uint8Array | undefined => {
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  return undefined
}

/** The value that is written, as `JSON.stringify` finds it. */
function plainOf(value: unknown, key: string): unknown {
  const custom = (value as { toJSON?: unknown } | null | undefined)?.toJSON
  const given = typeof custom === 'function' ? custom.call(value, key) : value
  const isWrapped = given instanceof Number || given instanceof String || given instanceof Boolean
  return isWrapped ? given.valueOf() : given
}

/**
 * @param space as of `JSON.stringify`
 * @throws TypeError for a cycle, RangeError for more than {@link maxDepth} levels or `limit` characters
 */
export function writeJson(
  root: unknown,
  format: JsonFormat,
  space: string | number | undefined,
  limit: number,
): string {
  const indent =
    typeof space === 'number' ? ' '.repeat(Math.min(10, Math.max(0, space))) : (space ?? '').slice(0, 10)
  const path: object[] = []
  let left = limit

  function spend(text: string): string {
    left -= text.length
    if (left < 0) throw new RangeError(`the text has more than ${limit} characters`)
    return text
  }

  function list(parts: readonly string[], [open, close]: readonly [string, string]): string {
    if (parts.length === 0) return open + close
    if (indent === '') return `${open}${parts.join(',')}${close}`
    const outer = indent.repeat(path.length - 1)
    const inner = outer + indent
    left -= parts.length * (inner.length + 2)
    return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${outer}${close}`
  }

  function nested(value: object): string {
    if (path.includes(value)) throw new TypeError('cyclic input')
    if (path.length >= maxDepth) throw new RangeError(`more than ${maxDepth} values inside each other`)
    path.push(value)
    const colon = indent === '' ? ':' : ': '
    const text = Array.isArray(value)
      ? list(
          Array.from(value, (each, at) => write(each, String(at))),
          ['[', ']'],
        )
      : list(
          Object.entries(value).map(([key, each]) => {
            const name = format === 'jx' && identifier.test(key) ? key : quote(key, format)
            return spend(name + colon) + write(each, key)
          }),
          ['{', '}'],
        )
    path.pop()
    return text
  }

  function scalar(value: unknown): string | undefined {
    if (value === undefined) return specials.undefined[format]
    if (value === null || typeof value === 'boolean') return String(value)
    if (typeof value === 'number') return quoteNumber(value, format)
    if (typeof value === 'string') return quote(value, format)
    if (typeof value === 'function') return specials.function[format]
    if (typeof value === 'object') return undefined
    throw new TypeError(`a ${typeof value} cannot be written`)
  }

  function write(raw: unknown, key: string): string {
    const value = plainOf(raw, key)
    const text = scalar(value)
    if (text !== undefined) return spend(`${text},`).slice(0, -1)
    const bytes = bytesIn(value as object)
    if (!bytes) return nested(value as object)
    if (bytes.length * 2 > left) throw new RangeError(`the text has more than ${limit} characters`)
    return spend(format === 'jx' ? `|${encodeHex(bytes)}|` : `{"_buf":"${encodeHex(bytes)}"}`)
  }

  return write(root, '')
}
