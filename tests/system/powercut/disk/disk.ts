/** A disk that is fed what a program does, and gives the states that a cut of the power may leave on it. */
import { hash } from 'node:crypto'
import type { NodeType } from '../recorder/live-tree.ts'
import type { DataOperation, NameOperation, Operation } from '../recorder/operations.ts'
import type { Fate } from './content.ts'

/** An operation that a cut may undo. */
export type Pending = DataOperation | NameOperation

export interface Disk {
  apply(operation: Operation): void
  /** What is not yet safe, oldest first. */
  pending(): readonly Pending[]
  /** The state after a cut now. @param fateOf only asked for what is pending */
  cut(fateOf: (pending: Pending) => Fate): State
}

/** What a folder holds: files by path with their content, symbolic links with their target, folders and sockets by path. */
export interface State {
  readonly links: ReadonlyMap<string, string>
  readonly files: ReadonlyMap<string, Buffer>
  readonly folders: readonly string[]
  readonly sockets: readonly string[]
}

/** The same for the same state, whatever led to it. @param select paths that count */
export function identityOf(state: State, select: (path: string) => boolean = () => true): string {
  const lines = [...state.files]
    .filter(([path]) => select(path))
    .map(([path, content]) => `${path} ${digestOf(content)}`)
  const links = [...state.links]
    .filter(([path]) => select(path))
    .map(([path, target]) => `${path} -> ${target}`)
  const names = [...links, ...[...state.folders, ...state.sockets].filter(select)]
  return hash('sha1', [...lines, ...names].sort().join('\n'))
}

const digests = new WeakMap<Buffer, string>()

function digestOf(content: Buffer): string {
  const known = digests.get(content) ?? hash('sha1', content)
  digests.set(content, known)
  return known
}

/** The folders that have to be synced to make it safe. */
export const foldersOf = (operation: NameOperation): number[] => [
  ...(operation.kind === 'unlink' ? [] : [operation.to.folder]),
  ...(operation.kind === 'link' ? [] : [operation.from.folder]),
]

interface Inode {
  readonly type: NodeType
  /** Of a symbolic link. */
  readonly target: string
}

type Names = Map<number, Map<string, number>>

/** Copies what is changed only. */
export class NameTree {
  #folders: Names
  readonly #inodes: Map<number, Inode>

  constructor(folders: Names = new Map(), inodes: Map<number, Inode> = new Map()) {
    this.#folders = folders
    this.#inodes = inodes
  }

  describe({ inode, type, target = '' }: Extract<NameOperation, { kind: 'link' }>): void {
    // A second name of a file describes it as the first did.
    this.#inodes.set(inode, { type, target })
  }

  copy(): NameTree {
    return new NameTree(
      new Map([...this.#folders].map(([folder, names]) => [folder, new Map(names)])),
      this.#inodes,
    )
  }

  set(folder: number, name: string, inode: number): void {
    const names = this.#folders.get(folder) ?? new Map()
    this.#folders.set(folder, names.set(name, inode))
  }

  /** Only where the name leads to that inode: a newer one may have taken it. */
  delete(folder: number, name: string, inode: number): void {
    const names = this.#folders.get(folder)
    if (names?.get(name) === inode) names.delete(name)
  }

  state(contentOf: (inode: number) => Buffer): State {
    const files = new Map<string, Buffer>()
    const links = new Map<string, string>()
    const folders: string[] = []
    const sockets: string[] = []
    const walk = (folder: number, above: string) => {
      for (const [name, inode] of this.#folders.get(folder) ?? []) {
        const path = above + name
        const { type, target } = this.#inodes.get(inode)!
        if (type === 'file') files.set(path, contentOf(inode))
        else if (type === 'symlink') links.set(path, target)
        else if (type === 'socket') sockets.push(path)
        else {
          folders.push(path)
          walk(inode, `${path}/`)
        }
      }
    }
    walk(0, '')
    return { files, links, folders, sockets }
  }
}
