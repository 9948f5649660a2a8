/** Arguments of `node:fs`, as packages give them. */
import { argumentError, fileError } from './errors.ts'

/** @throws TypeError | FileError */
export function pathOf(given: unknown, syscall: string): string {
  if (typeof given === 'string') return given
  if (given instanceof Uint8Array) return new TextDecoder().decode(given)
  if (given instanceof URL) return pathOfUrl(given, syscall)
  throw Object.assign(new TypeError(`a path is a string, a Buffer or a URL, and not ${typeof given}`), {
    code: 'ERR_INVALID_ARG_TYPE',
  })
}

function pathOfUrl({ protocol, host, pathname }: URL, syscall: string): string {
  if (protocol !== 'file:' || host !== '' || /%2f/i.test(pathname))
    throw argumentError(`the URL of a file begins with file:/// and has no %2F: ${syscall}`)
  return decodeURIComponent(pathname)
}

/** Flags of open(2), as Node.js names them. */
export interface OpenFlags {
  readonly reads: boolean
  readonly writes: boolean
  readonly appends: boolean
  readonly creates: boolean
  readonly truncates: boolean
  readonly isExclusive: boolean
}

const O = {
  WRONLY: 1,
  RDWR: 2,
  CREAT: 0o100,
  EXCL: 0o200,
  TRUNC: 0o1000,
  APPEND: 0o2000,
  DIRECTORY: 0o200_000,
}

const named: Readonly<Record<string, number>> = {
  r: 0,
  'r+': O.RDWR,
  w: O.WRONLY | O.CREAT | O.TRUNC,
  'w+': O.RDWR | O.CREAT | O.TRUNC,
  a: O.WRONLY | O.CREAT | O.APPEND,
  'a+': O.RDWR | O.CREAT | O.APPEND,
}

/** @param given such as `r`, `wx+`, `as`, or a number. @throws TypeError */
export function flagsOf(given: unknown = 'r'): OpenFlags {
  const flags = typeof given === 'number' ? given : readFlags(String(given))
  return {
    reads: (flags & 3) !== O.WRONLY,
    writes: (flags & 3) !== 0,
    appends: (flags & O.APPEND) !== 0,
    creates: (flags & O.CREAT) !== 0,
    truncates: (flags & O.TRUNC) !== 0,
    isExclusive: (flags & O.EXCL) !== 0,
  }
}

function readFlags(text: string): number {
  const plain = text.replace(/[xs]/, '')
  if (!Object.hasOwn(named, plain) || text.length > 3)
    throw argumentError(`there is no flag ${JSON.stringify(text.slice(0, 20))}`)
  return named[plain]! | (text.includes('x') ? O.EXCL : 0)
}

/** Octal text, as packages write modes, or a number. */
export function modeOf(given: unknown, usual: number): number {
  if (given === undefined || given === null) return usual
  const mode = typeof given === 'string' ? Number.parseInt(given, 8) : Number(given)
  if (!Number.isInteger(mode) || mode < 0) throw argumentError('a mode is a number, or octal digits')
  return mode & 0o7777
}

export interface Options {
  readonly encoding?: string | null
  readonly flag?: string | number
  readonly mode?: unknown
  readonly recursive?: boolean
  readonly force?: boolean
  readonly withFileTypes?: boolean
  readonly bigint?: boolean
  readonly throwIfNoEntry?: boolean
}

/** Options, or the encoding alone. */
export const optionsOf = (given: unknown): Options =>
  typeof given === 'string' ? { encoding: given } : ((given ?? {}) as Options)

/** A number of bytes or a position: null and -1 for where the descriptor is. */
export function positionOf(given: unknown): number | null {
  if (given === undefined || given === null) return null
  const position = Number(given)
  if (position === -1) return null
  if (!Number.isSafeInteger(position) || position < 0) throw rangeError('position', given)
  return position
}

const rangeError = (name: string, given: unknown): RangeError =>
  Object.assign(new RangeError(`${name} is out of range: ${String(given).slice(0, 40)}`), {
    code: 'ERR_OUT_OF_RANGE',
  })

/** A part of a buffer: what `read` and `write` fill or send. @throws RangeError | TypeError */
export function partOf(buffer: unknown, offset: unknown, length: unknown): Uint8Array {
  if (!ArrayBuffer.isView(buffer)) throw argumentError('a buffer is a Buffer, a typed array or a DataView')
  const bytes = new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
  const from = Number(offset ?? 0)
  const count = Number(length ?? bytes.length - from)
  if (!Number.isInteger(from) || from < 0 || from > bytes.length) throw rangeError('offset', offset)
  if (!Number.isInteger(count) || count < 0 || from + count > bytes.length) throw rangeError('length', length)
  return bytes.subarray(from, from + count)
}

/** @throws FileError EBADF for anything but a number */
export function descriptorOf(given: unknown, syscall: string): number {
  if (typeof given !== 'number' || !Number.isInteger(given)) throw fileError('EBADF', syscall)
  return given
}
