/**
 * `node:fs` and `node:fs/promises` of a function: its own files, in its memory. What is not here stays the platform's, which needs rights that no
 * function has.
 */
import { afterEvents, bufferOf, bytesOf, nodeModule, nodeProcess } from '../sockets/node.ts'
import { createDescriptors } from './descriptors.ts'
import { argumentError } from './errors.ts'
import { createHandles } from './handle.ts'
import { createOperations } from './operations.ts'
import { Dirent, Stats } from './stats.ts'
import { createStreams } from './streams.ts'
import { createTree, type FileLimits } from './tree.ts'

type Call = (...given: unknown[]) => unknown
type Calls = Record<string, unknown>

interface FileModules {
  readonly fs: Calls
  readonly promises: Calls
}

const custom = Symbol.for('nodejs.util.promisify.custom')

export function createFileModules(limits?: FileLimits): FileModules {
  const platform = nodeModule<Calls & { promises: Calls; constants: object }>('node:fs')
  const tree = createTree(limits)
  const operations = createOperations(tree, createDescriptors(tree, print))
  const fs: Calls = {
    ...platform,
    constants: platform.constants,
    Stats,
    Dirent,
    ...createStreams(operations),
  }
  const promises: Calls = { ...platform.promises, constants: platform.constants }
  for (const [name, operation] of Object.entries(operations as Readonly<Record<string, Call>>)) {
    fs[`${name}Sync`] = operation
    fs[name] = withCallback(name, operation)
    if (!ofDescriptors.has(name)) promises[name] = async (...given: unknown[]) => operation(...given)
  }
  // They have the names of the file as the argument, or of a descriptor.
  Object.assign(fs, { realpath: Object.assign(fs.realpath as Call, { native: fs.realpath }) })
  Object.assign(fs, { realpathSync: Object.assign(fs.realpathSync as Call, { native: fs.realpathSync }) })
  Object.assign(promises, createHandles(operations))
  fs.promises = promises
  // Of the bundle, before its modules run: paths with base64.
  const addFiles = (files: Readonly<Record<string, string>>): void => {
    for (const [path, base64] of Object.entries(files))
      tree.addFixed(path, new Uint8Array(bytesOf(base64, 'base64')))
  }
  Object.defineProperty(fs, Symbol.for('selvedge.files'), { value: addFiles })
  return { fs, promises }
}

/** Operations that `node:fs/promises` has as methods of its handles. */
const ofDescriptors = new Set(
  'open close read write readv writev exists fstat fchmod fchown futimes ftruncate fsync fdatasync'.split(
    ' ',
  ),
)

function print(number: 1 | 2, bytes: Uint8Array): void {
  const { stdout, stderr } = nodeProcess as unknown as Record<
    'stdout' | 'stderr',
    { write(bytes: Uint8Array): void }
  >
  const output = number === 1 ? stdout : stderr
  output.write(bytes)
}

/** What the callback of a call gets after the error. */
const results: Readonly<Record<string, (result: unknown, given: readonly unknown[]) => readonly unknown[]>> =
  {
    read: (count, [, buffer]) => [count, buffer],
    readv: (count, [, buffers]) => [count, buffers],
    write: (count, [, data]) => [count, data],
    writev: (count, [, buffers]) => [count, buffers],
  }
const names: Readonly<Record<string, string>> = {
  read: 'buffer',
  readv: 'buffers',
  write: 'buffer',
  writev: 'buffers',
}
const readBytes = 16_384

/** `read(fd, callback)` and `read(fd, options, callback)` come without a buffer. */
function readArguments([number, first, ...rest]: readonly unknown[]): readonly unknown[] {
  if (ArrayBuffer.isView(first)) return [number, first, ...rest]
  const { buffer = bufferOf(new Uint8Array(readBytes)), ...part } = (first ?? {}) as { buffer?: unknown }
  return [number, buffer, part]
}

function withCallback(name: string, operation: Call): Call {
  const call = (...all: unknown[]): void => {
    const done = all.pop()
    if (typeof done !== 'function') throw callbackError(name)
    const given = name === 'read' ? readArguments(all) : all
    const next = (...result: unknown[]) => afterEvents(() => done(...result))
    try {
      const result = operation(...given)
      if (name === 'exists') next(result)
      else next(null, ...(results[name]?.(result, given) ?? (result === undefined ? [] : [result])))
    } catch (cause) {
      // As in Node.js, arguments are refused at the call.
      if (cause instanceof TypeError || cause instanceof RangeError) throw cause
      next(cause)
    }
  }
  const promised = async (...all: unknown[]) => {
    const given = name === 'read' ? readArguments(all) : all
    const result = operation(...given)
    const [, shown] = results[name]?.(result, given) ?? []
    return shown === undefined
      ? result
      : { [name.startsWith('read') ? 'bytesRead' : 'bytesWritten']: result, [names[name]!]: shown }
  }
  return Object.defineProperty(call, custom, { value: promised })
}

const callbackError = (name: string): TypeError =>
  Object.assign(
    argumentError(`the last argument of ${name} is a function: use ${name}Sync or fs.promises without one`),
    {
      code: 'ERR_INVALID_ARG_TYPE',
    },
  )
