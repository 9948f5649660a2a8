/**
 * The source map at the end of a bundled function (ECMA-426), which names the line of the author's file for each place in the bundle. It
 * comes with the function and is read inside its sandbox: a hostile one changes only what the stack traces of that function say.
 */
import { decodeBase64 } from './binary-text.ts'
import { decode, parse } from './own.ts'

/** Base64 characters of the largest map that is read; a larger one is ignored. */
const maxMapChars = 4 * 1024 * 1024
const marker = '//# sourceMappingURL=data:application/json'

export interface Position {
  readonly file: string
  /** From 1. */
  readonly line: number
  /** From 1. */
  readonly column: number
}

/** Finds the position in the author's files; undefined if the map does not name it. @param line from 1 @param column from 1 */
export type FindPosition = (line: number, column: number) => Position | undefined

export interface Bundle {
  /** The source without its map: line numbers are unchanged. */
  readonly code: string
  readonly find: FindPosition
}

/** Separates a source and its map. The map is decoded at the first use: most functions never need it. */
export function readBundle(source: string): Bundle {
  const at = source.lastIndexOf(marker)
  const comma = source.indexOf(',', at)
  const end = source.length
  const isMap = at >= 0 && comma >= 0 && !source.slice(at, comma).includes('\n')
  if (!isMap || source.slice(at).trimEnd().includes('\n')) return { code: source, find: () => undefined }
  const base64 = end - comma > maxMapChars ? '' : source.slice(comma + 1).trimEnd()
  let find: FindPosition | undefined
  return {
    code: source.slice(0, at),
    find: (line, column) => (find ??= decodeMap(base64))(line, column),
  }
}

function decodeMap(base64: string): FindPosition {
  try {
    const { sources, mappings } = parse(decode(decodeBase64(base64))) as Record<string, unknown>
    if (typeof mappings !== 'string' || !Array.isArray(sources)) return () => undefined
    const segments = decodeMappings(mappings)
    return (line, column) => {
      const found = findSegment(segments, line - 1, column - 1)
      const file = found && sources[found.source]
      return typeof file === 'string' ? { file, line: found!.line + 1, column: found!.column + 1 } : undefined
    }
  } catch {
    return () => undefined
  }
}

/** Five numbers for each segment, in order: line and column of the bundle; source, line and column of the author, all from 0. */
const width = 5

const digits = new Uint8Array(128).fill(255)
for (let at = 0; at < 64; at++)
  digits['ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'.charCodeAt(at)] = at

/** Reads base64 VLQ numbers (ECMA-426 § 7.1): each is a difference to the one before. @throws Error for any other text */
function decodeMappings(mappings: string): Int32Array {
  let segments = new Int32Array(1024 * width)
  let used = 0
  const last = [0, 0, 0, 0, 0]
  let field = 0
  let value = 0
  let shift = 0
  let line = 0
  const finish = () => {
    // Segments without a source have nothing to look up.
    if (field >= 4) {
      if (used + width > segments.length) {
        const larger = new Int32Array(segments.length * 2)
        larger.set(segments)
        segments = larger
      }
      segments.set([line, last[0]!, last[1]!, last[2]!, last[3]!], used)
      used += width
    }
    field = 0
  }
  for (let at = 0; at < mappings.length; at++) {
    const char = mappings.charCodeAt(at)
    if (char === 0x2c || char === 0x3b) {
      finish()
      if (char === 0x3b) {
        line++
        last[0] = 0
      }
      continue
    }
    const digit = char < 128 ? digits[char]! : 255
    if (digit === 255 || shift > 30 || field > 4) throw new Error('the map is not base64 VLQ')
    value |= (digit & 31) << shift
    shift += 5
    if (digit & 32) continue
    last[field++]! += value & 1 ? -(value >>> 1) : value >>> 1
    value = 0
    shift = 0
  }
  finish()
  return segments.subarray(0, used)
}

/** The last segment of a line that begins at or before a column. */
function findSegment(segments: Int32Array, line: number, column: number) {
  let low = 0
  let high = segments.length / width
  while (low < high) {
    const middle = (low + high) >>> 1
    const at = middle * width
    const isAfter = segments[at]! > line || (segments[at] === line && segments[at + 1]! > column)
    if (isAfter) high = middle
    else low = middle + 1
  }
  const at = (low - 1) * width
  if (at < 0 || segments[at] !== line) return undefined
  return { source: segments[at + 2]!, line: segments[at + 3]!, column: segments[at + 4]! }
}
