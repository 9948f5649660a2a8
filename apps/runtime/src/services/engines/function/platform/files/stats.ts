/** `Stats` and `Dirent` of the function's files. */
import type { Node } from './tree.ts'

const folderType = 0o040_000
const fileType = 0o100_000
/** The unprivileged user of Linux. */
const nobody = 65_534
const blockBytes = 4096

class Kind {
  readonly #kind: Node['kind']
  constructor({ kind }: Node) {
    this.#kind = kind
  }
  isFile(): boolean {
    return this.#kind === 'file'
  }
  isDirectory(): boolean {
    return this.#kind === 'folder'
  }
  isSymbolicLink(): boolean {
    return false
  }
  isBlockDevice(): boolean {
    return false
  }
  isCharacterDevice(): boolean {
    return false
  }
  isFIFO(): boolean {
    return false
  }
  isSocket(): boolean {
    return false
  }
}

export class Stats extends Kind {}

/** Numbers, or with `bigint` the same as `BigInt` and in nanoseconds too. */
export function statsOf(node: Node, isBig = false): Stats {
  const { accessed, modified, born } = node.times
  const size = node.kind === 'file' ? node.size : 0
  const counts = {
    dev: 1,
    mode: node.mode | (node.kind === 'file' ? fileType : folderType),
    nlink: 1,
    uid: nobody,
    gid: nobody,
    rdev: 0,
    blksize: blockBytes,
    ino: node.number,
    size,
    blocks: Math.ceil(size / 512),
    atimeMs: accessed,
    mtimeMs: modified,
    ctimeMs: modified,
    birthtimeMs: born,
  }
  const dates = {
    atime: new Date(accessed),
    mtime: new Date(modified),
    ctime: new Date(modified),
    birthtime: new Date(born),
  }
  if (!isBig) return Object.assign(new Stats(node), counts, dates)
  const big = Object.entries(counts).flatMap(([name, value]) => {
    const whole = BigInt(Math.trunc(value))
    return name.endsWith('Ms')
      ? [
          [name, whole],
          [name.replace('Ms', 'Ns'), whole * 1_000_000n],
        ]
      : [[name, whole]]
  })
  return Object.assign(new Stats(node), Object.fromEntries(big), dates)
}

export class Dirent extends Kind {
  readonly name: string
  readonly parentPath: string
  readonly path: string
  constructor(node: Node, name: string, parentPath: string) {
    super(node)
    this.name = name
    this.parentPath = parentPath
    this.path = parentPath
  }
}
