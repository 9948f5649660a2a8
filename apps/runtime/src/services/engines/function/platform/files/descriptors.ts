/** Descriptors of the function's own files. Their numbers begin where no descriptor of the process is; 1 and 2 are its output. */
import { descriptorOf, flagsOf, type OpenFlags, partOf, positionOf } from './arguments.ts'
import { fileError } from './errors.ts'
import type { FileNode, FileTree, Node } from './tree.ts'

const firstNumber = 1000

interface Open {
  readonly node: Node
  readonly flags: OpenFlags
  readonly path: string
  position: number
}

export interface Descriptors {
  /** @throws FileError */
  open(path: string, flags: unknown, mode: number): number
  close(given: unknown): void
  node(given: unknown, syscall: string): Node
  /** @returns the bytes that were read, 0 at the end */
  read(given: unknown, buffer: unknown, offset?: unknown, length?: unknown, position?: unknown): number
  write(given: unknown, bytes: Uint8Array, position?: unknown): number
  truncate(given: unknown, size: number): void
}

/** @param print writes to the output of the function: 1, or 2 for errors */
export function createDescriptors(
  tree: FileTree,
  print: (number: 1 | 2, bytes: Uint8Array) => void,
): Descriptors {
  const opened = new Map<number, Open>()

  const find = (given: unknown, syscall: string): Open => {
    const found = opened.get(descriptorOf(given, syscall))
    if (found === undefined)
      throw fileError('EBADF', syscall, {
        hint: 'a function has descriptors of its own files, and 1 and 2 to write to',
      })
    return found
  }
  const fileOf = ({ node, path }: Open, syscall: string): FileNode => {
    if (node.kind === 'folder') throw fileError('EISDIR', syscall, { path })
    return node
  }

  function makeOrFind(path: string, flags: OpenFlags, mode: number): Node {
    if (!flags.creates) {
      const node = tree.find(path, 'open')
      if (flags.writes) tree.checkWritable(path, 'open')
      return node
    }
    const place = tree.place(path, 'open')
    if (place.node === undefined) return tree.make(place, 'file', mode, path, 'open')
    if (flags.isExclusive) throw fileError('EEXIST', 'open', { path })
    return place.node
  }

  return {
    open(path, given, mode) {
      const flags = flagsOf(given)
      if (opened.size >= tree.limits.descriptors) throw fileError('EMFILE', 'open', { path })
      const node = makeOrFind(path, flags, mode)
      if (node.kind === 'folder' && (flags.writes || flags.creates))
        throw fileError('EISDIR', 'open', { path })
      if (node.kind === 'file') {
        if (flags.truncates && flags.writes) tree.resize(node, 0, 'open')
        node.opens += 1
      }
      let number = firstNumber
      while (opened.has(number)) number += 1
      opened.set(number, { node, flags, path, position: 0 })
      return number
    },
    close(given) {
      const { node } = find(given, 'close')
      opened.delete(given as number)
      if (node.kind === 'folder') return
      node.opens -= 1
      tree.release(node)
    },
    node: (given, syscall) => find(given, syscall).node,
    read(given, buffer, offset, length, at) {
      const open = find(given, 'read')
      if (!open.flags.reads) throw fileError('EBADF', 'read')
      const file = fileOf(open, 'read')
      const target = partOf(buffer, offset, length)
      const position = positionOf(at)
      const from = position ?? open.position
      const part = file.bytes.subarray(Math.min(from, file.size), Math.min(from + target.length, file.size))
      target.set(part)
      if (position === null) open.position += part.length
      return part.length
    },
    write(given, bytes, at) {
      if (given === 1 || given === 2) {
        print(given, bytes)
        return bytes.length
      }
      const open = find(given, 'write')
      if (!open.flags.writes) throw fileError('EBADF', 'write')
      const file = fileOf(open, 'write')
      const position = open.flags.appends ? file.size : (positionOf(at) ?? open.position)
      if (position + bytes.length > file.size) tree.resize(file, position + bytes.length, 'write')
      file.bytes.set(bytes, position)
      file.times = { ...file.times, modified: tree.clock() }
      if (positionOf(at) === null) open.position = position + bytes.length
      return bytes.length
    },
    truncate(given, size) {
      const open = find(given, 'ftruncate')
      if (!open.flags.writes) throw fileError('EINVAL', 'ftruncate')
      tree.resize(fileOf(open, 'ftruncate'), size, 'ftruncate')
    },
  }
}
