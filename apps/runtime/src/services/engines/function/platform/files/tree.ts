/** The files of a function: a tree in its memory. Nothing of it is on a disk, and no path leads out of it. */
import { argumentError, fileError } from './errors.ts'

export interface FileNode {
  readonly kind: 'file'
  readonly number: number
  mode: number
  /** Allocated; the file ends at `size`. */
  bytes: Uint8Array<ArrayBuffer>
  size: number
  /** Names, 0 or 1, and descriptors: without both, its bytes are free. */
  names: number
  opens: number
  times: Times
}

export interface FolderNode {
  readonly kind: 'folder'
  readonly number: number
  mode: number
  readonly children: Map<string, Node>
  times: Times
}

export type Node = FileNode | FolderNode

/** Milliseconds since 1970. */
interface Times {
  readonly accessed: number
  readonly modified: number
  readonly born: number
}

export interface FileLimits {
  /** Of all files together. */
  readonly bytes: number
  /** Files and folders. */
  readonly nodes: number
  /** Folders in each other. */
  readonly depth: number
  readonly nameBytes: number
  readonly pathCharacters: number
  readonly descriptors: number
}

const fileLimits: FileLimits = {
  bytes: 16 * 1024 * 1024,
  nodes: 4096,
  depth: 32,
  nameBytes: 255,
  pathCharacters: 4096,
  descriptors: 256,
}

/** The only folder in which something can be made. */
const writable = 'tmp'
const onlyTmp = 'a function has files in /tmp only, which is its memory'
const growthBytes = 1024 * 1024

/** A path, as its names from the root. */
type Names = readonly string[]

export interface Place {
  readonly folder: FolderNode
  readonly name: string
  readonly node: Node | undefined
}

export interface FileTree {
  readonly limits: FileLimits
  readonly clock: () => number
  /** @throws FileError */
  find(path: string, syscall: string): Node
  /** Where something is made, changed or removed. @throws FileError also where nothing can be changed */
  place(path: string, syscall: string): Place
  /** @throws FileError EROFS where nothing can be changed */
  checkWritable(path: string, syscall: string): void
  make(place: Place, kind: 'file', mode: number, path: string, syscall: string): FileNode
  make(place: Place, kind: 'folder', mode: number, path: string, syscall: string): FolderNode
  remove(place: Place): void
  /** A file of the bundle, which stays as it is. @throws FileError */
  addFixed(path: string, bytes: Uint8Array<ArrayBuffer>): void
  isFixed(node: Node): boolean
  /** Gives what is at one place the name of another one, which is free. */
  move(from: Place, to: Place): void
  /** Gives the file at least this size, or less. @throws FileError ENOSPC */
  resize(file: FileNode, size: number, syscall: string): void
  /** Frees the bytes of a file that has neither a name nor a descriptor. */
  release(file: FileNode): void
}

/** The path of what packages give, without `.` and `..`. @throws TypeError | FileError */
function namesOf(path: string, syscall: string, limits: FileLimits): Names {
  if (path.includes('\0')) throw argumentError('a path has no null bytes')
  if (path === '') throw fileError('ENOENT', syscall, { path })
  if (path.length > limits.pathCharacters)
    throw fileError('ENAMETOOLONG', syscall, { path: path.slice(0, 100) })
  const names: string[] = []
  for (const name of path.split('/')) {
    if (name === '' || name === '.') continue
    if (name === '..') names.pop()
    else names.push(name)
  }
  if (
    names.length > limits.depth ||
    names.some((name) => name.length * 3 > limits.nameBytes && byteLength(name) > limits.nameBytes)
  )
    throw fileError('ENAMETOOLONG', syscall, { path })
  return names
}

const byteLength = (text: string): number => new TextEncoder().encode(text).length

const noBytes = () => new Uint8Array(0)
const emptyFile = () => ({ bytes: noBytes(), size: 0, names: 1, opens: 0 })

interface Makers {
  folder(): FolderNode
  file(): FileNode
}

/** Makes a file, with the folders above it. @returns the folders and the file, which is the last one @throws FileError */
function placeFixed(root: FolderNode, names: Names, path: string, make: Makers): readonly Node[] {
  const nodes: Node[] = []
  let folder = root
  for (const name of names.slice(0, -1)) {
    const found = folder.children.get(name) ?? make.folder()
    if (found.kind === 'file') throw fileError('ENOTDIR', 'open', { path })
    folder.children.set(name, found)
    nodes.push(found)
    folder = found
  }
  const name = names.at(-1)!
  if (folder.children.has(name)) throw fileError('EEXIST', 'open', { path })
  const file = make.file()
  folder.children.set(name, file)
  return [...nodes, file]
}

/** @param clock milliseconds since 1970 */
export function createTree(limits: FileLimits = fileLimits, clock: () => number = Date.now): FileTree {
  let used = 0
  let nodes = 0
  let numbers = 1
  const now = (): Times => {
    const ms = clock()
    return { accessed: ms, modified: ms, born: ms }
  }
  const newFolder = (mode: number): FolderNode => {
    nodes += 1
    return { kind: 'folder', number: ++numbers, mode, children: new Map(), times: now() }
  }
  const newFile = (mode: number): FileNode => {
    nodes += 1
    return { kind: 'file', number: ++numbers, mode, ...emptyFile(), times: now() }
  }
  const root = newFolder(0o555)
  const fixed = new WeakSet<Node>([root])
  root.children.set(writable, newFolder(0o777))

  function walk(names: Names, path: string, syscall: string): Node {
    let node: Node = root
    for (const name of names) {
      if (node.kind === 'file') throw fileError('ENOTDIR', syscall, { path })
      const next: Node | undefined = node.children.get(name)
      if (next === undefined)
        throw fileError('ENOENT', syscall, { path, ...(names[0] !== writable && { hint: onlyTmp }) })
      node = next
    }
    return node
  }

  function release(file: FileNode): void {
    if (file.names + file.opens > 0) return
    used -= file.bytes.length
    file.bytes = noBytes()
    file.size = 0
  }

  return {
    limits,
    clock,
    find: (path, syscall) => walk(namesOf(path, syscall, limits), path, syscall),
    place(path, syscall) {
      const names = namesOf(path, syscall, limits)
      const name = names.at(-1)
      const folder = walk(names.slice(0, -1), path, syscall)
      if (folder.kind === 'file') throw fileError('ENOTDIR', syscall, { path })
      if (name === undefined || fixed.has(folder)) throw fileError('EROFS', syscall, { path, hint: onlyTmp })
      return { folder, name, node: folder.children.get(name) }
    },
    checkWritable(path, syscall) {
      if (namesOf(path, syscall, limits)[0] !== writable)
        throw fileError('EROFS', syscall, { path, hint: onlyTmp })
    },
    make(place: Place, kind: 'file' | 'folder', mode: number, path: string, syscall: string) {
      if (nodes >= limits.nodes)
        throw fileError('ENOSPC', syscall, { path, hint: `at most ${limits.nodes} files and folders` })
      const node = kind === 'file' ? newFile(mode) : newFolder(mode)
      place.folder.children.set(place.name, node)
      return node as never
    },
    remove({ folder, name, node }) {
      if (node === undefined) return
      folder.children.delete(name)
      nodes -= 1
      if (node.kind === 'folder') return
      node.names = 0
      release(node)
    },
    addFixed(path, bytes) {
      const names = namesOf(path, 'open', limits)
      if (names.length === 0 || names[0] === writable) throw fileError('EROFS', 'open', { path })
      if (nodes + names.length > limits.nodes || used + bytes.length > limits.bytes)
        throw fileError('ENOSPC', 'open', { path })
      const file = () => ({ ...newFile(0o444), bytes, size: bytes.length })
      const made = placeFixed(root, names, path, { folder: () => newFolder(0o555), file })
      for (const each of made) fixed.add(each)
      used += bytes.length
    },
    isFixed: (node) => fixed.has(node),
    move(from, { folder, name }) {
      from.folder.children.delete(from.name)
      folder.children.set(name, from.node!)
    },
    resize(file, size, syscall) {
      const enough = Math.max(size, Math.min(file.bytes.length * 2, file.bytes.length + growthBytes))
      const length = [enough, size].find((each) => used - file.bytes.length + each <= limits.bytes)
      if (size > file.bytes.length) {
        if (length === undefined)
          throw fileError('ENOSPC', syscall, { hint: `files have at most ${limits.bytes} bytes together` })
        const bytes = new Uint8Array(length)
        bytes.set(file.bytes.subarray(0, file.size))
        used += length - file.bytes.length
        file.bytes = bytes
      } else if (size < file.size) file.bytes.fill(0, size, file.size)
      file.size = size
    },
    release,
  }
}
