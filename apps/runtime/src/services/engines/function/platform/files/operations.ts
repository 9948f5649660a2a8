/** What `node:fs` does with files, each as its synchronous call: the other calls are made of these. */

import { bufferOf, bytesOf } from '../sockets/node.ts'
import { modeOf, optionsOf, partOf, pathOf, positionOf } from './arguments.ts'
import type { Descriptors } from './descriptors.ts'
import { argumentError, fileError } from './errors.ts'
import { folderOperations } from './folders.ts'
import { statsOf } from './stats.ts'
import type { FileTree, Node } from './tree.ts'

/** Bit of `access` and of `copyFile`. */
const writeAccess = 2
const exclusive = 1

type Operation = (...given: never[]) => unknown
export type Operations = Readonly<Record<string, Operation>>

/** The operations by their names without `Sync`. */
export function createOperations(tree: FileTree, descriptors: Descriptors): Operations {
  return {
    ...wholeFiles(descriptors),
    ...folderOperations(tree),
    ...attributes(tree, descriptors),
    ...descriptorOperations(descriptors),
  }
}

const dataOf = (data: unknown, encoding: string | null | undefined): Uint8Array =>
  ArrayBuffer.isView(data) ? partOf(data, 0, data.byteLength) : bytesOf(checkText(data), encoding ?? 'utf8')

function checkText(data: unknown): string {
  if (typeof data === 'string') return data
  throw Object.assign(new TypeError('data of a file is a string, a Buffer, a typed array or a DataView'), {
    code: 'ERR_INVALID_ARG_TYPE',
  })
}

function wholeFiles(descriptors: Descriptors) {
  function withFile<T>(given: unknown, flag: unknown, mode: unknown, use: (number: number) => T): T {
    if (typeof given === 'number') return use(given)
    const number = descriptors.open(pathOf(given, 'open'), flag, modeOf(mode, 0o666))
    try {
      return use(number)
    } finally {
      descriptors.close(number)
    }
  }
  function writeFile(given: unknown, data: unknown, options: unknown, usualFlag = 'w'): void {
    const { encoding, flag = usualFlag, mode } = optionsOf(options)
    const bytes = dataOf(data, encoding)
    withFile(given, flag, mode, (number) => void descriptors.write(number, bytes))
  }
  function readFile(given: unknown, options: unknown): unknown {
    const { encoding, flag = 'r' } = optionsOf(options)
    const buffer = withFile(given, flag, undefined, (number) => {
      const node = descriptors.node(number, 'read')
      const bytes = new Uint8Array(node.kind === 'file' ? node.size : 1)
      return bufferOf(bytes.subarray(0, descriptors.read(number, bytes)))
    })
    return encoding && encoding !== 'buffer'
      ? (buffer as { toString(name: string): string }).toString(encoding)
      : buffer
  }
  return {
    readFile,
    writeFile,
    appendFile: (given: unknown, data: unknown, options: unknown) => writeFile(given, data, options, 'a'),
    copyFile(from: unknown, to: unknown, mode: unknown = 0) {
      const data = readFile(pathOf(from, 'copyfile'), undefined)
      writeFile(pathOf(to, 'copyfile'), data, { flag: Number(mode) & exclusive ? 'wx' : 'w' })
    },
    truncate: (path: unknown, size: unknown = 0) =>
      withFile(pathOf(path, 'open'), 'r+', undefined, (number) =>
        descriptors.truncate(number, positionOf(size) ?? 0),
      ),
  }
}

function attributes(tree: FileTree, descriptors: Descriptors) {
  const find = (path: unknown, syscall: string) => tree.find(pathOf(path, syscall), syscall)
  /** @throws FileError EROFS for what is not in the folder where something can be made */
  const findOwn = (path: unknown, syscall: string): Node => {
    const node = find(path, syscall)
    tree.checkWritable(pathOf(path, syscall), syscall)
    return node
  }
  const opened = (number: unknown, syscall: string): Node => {
    const node = descriptors.node(number, syscall)
    if (tree.isFixed(node)) throw fileError('EROFS', syscall)
    return node
  }
  const stat = (path: unknown, options: unknown) => {
    const { bigint, throwIfNoEntry = true } = optionsOf(options)
    try {
      return statsOf(find(path, 'stat'), bigint)
    } catch (cause) {
      const { code } = cause as { code?: string }
      if (throwIfNoEntry || (code !== 'ENOENT' && code !== 'ENOTDIR')) throw cause
      return undefined
    }
  }
  const timeOf = (given: unknown): number => (given instanceof Date ? given.getTime() : Number(given) * 1000)
  const setTimes = (node: Node, accessed: unknown, modified: unknown) => {
    const times = { ...node.times, accessed: timeOf(accessed), modified: timeOf(modified) }
    if (Number.isNaN(times.accessed + times.modified))
      throw argumentError('a time is a Date, or seconds since 1970')
    node.times = times
  }
  const found = (path: unknown) => void findOwn(path, 'chown')
  return {
    stat,
    lstat: stat,
    fstat: (number: unknown, options: unknown) =>
      statsOf(descriptors.node(number, 'fstat'), optionsOf(options).bigint),
    access(path: unknown, mode: unknown = 0) {
      if (Number(mode) & writeAccess) findOwn(path, 'access')
      else find(path, 'access')
    },
    exists(path: unknown): boolean {
      try {
        find(path, 'access')
        return true
      } catch {
        return false
      }
    },
    realpath(path: unknown): string {
      find(path, 'realpath')
      return absolute(pathOf(path, 'realpath'))
    },
    chmod(path: unknown, mode: unknown) {
      findOwn(path, 'chmod').mode = modeOf(mode, 0)
    },
    fchmod(number: unknown, mode: unknown) {
      opened(number, 'fchmod').mode = modeOf(mode, 0)
    },
    chown: found,
    lchown: found,
    fchown: (number: unknown) => void opened(number, 'fchown'),
    utimes: (path: unknown, accessed: unknown, modified: unknown) =>
      setTimes(findOwn(path, 'utime'), accessed, modified),
    futimes: (number: unknown, accessed: unknown, modified: unknown) =>
      setTimes(opened(number, 'futime'), accessed, modified),
  }
}

/** There are no links, so `..` is what it seems. */
function absolute(path: string): string {
  const names: string[] = []
  for (const name of path.split('/')) {
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  }
  return `/${names.join('/')}`
}

function descriptorOperations(descriptors: Descriptors) {
  const check = (number: unknown) => void descriptors.node(number, 'fsync')
  /** `(buffer, offset, length, position)`, `(buffer, options)`, `(text, position, encoding)`, or `(text, encoding)`. */
  function write(number: unknown, data: unknown, ...rest: unknown[]): number {
    if (!ArrayBuffer.isView(data)) {
      const [position, encoding] = typeof rest[0] === 'string' ? [null, rest[0]] : rest
      return descriptors.write(number, dataOf(data, encoding as string | undefined), position)
    }
    const { offset, length, position } = partGiven(rest)
    return descriptors.write(number, partOf(data, offset, length), position)
  }
  const every =
    (use: (buffer: unknown, position: number | null) => number) => (buffers: unknown, at: unknown) => {
      let total = 0
      const from = positionOf(at)
      for (const each of buffers as Iterable<ArrayBufferView>) {
        const count = use(each, from === null ? null : from + total)
        total += count
        if (count < each.byteLength) break
      }
      return total
    }
  return {
    open: (path: unknown, flags: unknown, mode: unknown) =>
      descriptors.open(pathOf(path, 'open'), flags ?? 'r', modeOf(mode, 0o666)),
    close: descriptors.close,
    read(number: unknown, buffer: unknown, ...rest: unknown[]): number {
      const { offset, length, position } = partGiven(rest)
      return descriptors.read(number, buffer, offset, length, position)
    },
    write,
    readv: (number: unknown, buffers: unknown, at: unknown) =>
      every((buffer, position) => descriptors.read(number, buffer, 0, undefined, position))(buffers, at),
    writev: (number: unknown, buffers: unknown, at: unknown) =>
      every((buffer, position) => descriptors.write(number, partOf(buffer, 0, undefined), position))(
        buffers,
        at,
      ),
    ftruncate: (number: unknown, size: unknown = 0) => descriptors.truncate(number, positionOf(size) ?? 0),
    fsync: check,
    fdatasync: check,
  }
}

interface Part {
  readonly offset?: unknown
  readonly length?: unknown
  readonly position?: unknown
}

const partGiven = ([first, length, position]: readonly unknown[]): Part =>
  typeof first === 'object' && first !== null ? (first as Part) : { offset: first, length, position }
