/**
 * `Duktape.enc` and `Duktape.dec` of the engine that handlers of this API family were written for (duktape.org, guide, "Duktape
 * built-ins" and "Custom JSON formats").
 */
import { decodeBase64, decodeHex, encodeBase64, encodeHex } from './binary-text.ts'
import { parseJx } from './jx-parse.ts'
import { writeJson } from './jx-write.ts'
import { decode, encode, parse } from './own.ts'

/** Characters that one call accepts or returns. */
const maxCharacters = 32 * 1024 * 1024

/** Bytes that read as their text (UTF-8) where a string is expected, as a buffer of that engine does. */
const readable = (bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> =>
  Object.defineProperty(bytes, 'toString', { value: () => decode(bytes) })

function bytesOf(data: unknown): Uint8Array {
  if (data instanceof ArrayBuffer) return new Uint8Array(data)
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
  return encode(String(data))
}

const expectSize = (length: number): void => {
  if (length > maxCharacters) throw new RangeError(`more than ${maxCharacters} characters`)
}

const unsupported = (format: unknown) => new TypeError(`unsupported encoding: ${String(format).slice(0, 40)}`)

/** @throws TypeError for an unknown format or a cycle, RangeError for data that is too large or too deep */
function enc(format: string, data: unknown, _replacer?: unknown, space?: string | number): string {
  if (format === 'jx' || format === 'jc') return writeJson(data, format, space, maxCharacters)
  if (format !== 'base64' && format !== 'hex') throw unsupported(format)
  const bytes = bytesOf(data)
  expectSize(bytes.length * 2)
  return format === 'hex' ? encodeHex(bytes) : encodeBase64(bytes)
}

/** @throws TypeError for an unknown format or text that is not of it, SyntaxError for broken `jx` and `jc` */
function dec(format: string, data: unknown): unknown {
  const text = typeof data === 'string' ? data : decode(bytesOf(data))
  expectSize(text.length)
  if (format === 'base64') return readable(decodeBase64(text))
  if (format === 'hex') return readable(decodeHex(text))
  if (format === 'jx') return parseJx(text)
  // The special values of JC are objects like any other: the engine itself does not read them back.
  if (format === 'jc') return parse(text)
  throw unsupported(format)
}

export const duktape = Object.freeze({ enc, dec, version: 20_700 })
