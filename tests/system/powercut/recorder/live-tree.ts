/** Files and folders as a program sees them while it runs: inodes, and the names that lead to them. */
import { Content } from '../disk/content.ts'
import type { DataOperation, Operation } from './operations.ts'

/** A name in a folder. */
export interface Place {
  readonly folder: number
  readonly name: string
}

/** Inode of the folder that is recorded. */
const rootInode = 0

export type NodeType = 'file' | 'folder' | 'socket' | 'symlink'

export class LiveTree {
  readonly #folders = new Map<number, Map<string, number>>([[rootInode, new Map()]])
  readonly #contents = new Map<number, Content>()
  #last = rootInode

  /** @param path relative to the recorded folder, '' for itself */
  find(path: string): number | undefined {
    let inode: number | undefined = rootInode
    for (const name of path.split('/').filter(Boolean))
      inode = inode === undefined ? undefined : this.#folders.get(inode)?.get(name)
    return inode
  }

  placeOf(path: string): Place {
    const names = path.split('/')
    const name = names.pop()!
    const folder = this.find(names.join('/'))
    if (folder === undefined) throw new Error(`nothing made the folder of ${path}`)
    return { folder, name }
  }

  lookUp({ folder, name }: Place): number | undefined {
    return this.#folders.get(folder)?.get(name)
  }

  inodeAt(place: Place): number {
    const inode = this.lookUp(place)
    if (inode === undefined) throw new Error(`nothing made ${place.name}`)
    return inode
  }

  create(to: Place, type: NodeType): number {
    const inode = ++this.#last
    this.#describe(inode, type)
    this.link(to, inode)
    return inode
  }

  link({ folder, name }: Place, inode: number): void {
    this.#folders.get(folder)!.set(name, inode)
  }

  unlink({ folder, name }: Place): void {
    this.#folders.get(folder)!.delete(name)
  }

  /** What an earlier process did. */
  replay(operation: Operation): void {
    if (operation.kind === 'write' || operation.kind === 'truncate') this.apply(operation)
    else if (operation.kind === 'unlink') this.unlink(operation.from)
    else if (operation.kind === 'rename') {
      this.link(operation.to, operation.inode)
      this.unlink(operation.from)
    } else if (operation.kind === 'link') {
      const { inode, type, to } = operation
      // A second name of a file is no new file.
      if (inode > this.#last) this.#describe(inode, type)
      this.#last = Math.max(this.#last, inode)
      this.link(to, inode)
    }
  }

  #describe(inode: number, type: NodeType): void {
    if (type === 'folder') this.#folders.set(inode, new Map())
    if (type === 'file') this.#contents.set(inode, new Content())
  }

  sizeOf(inode: number): number {
    return this.#contents.get(inode)?.size ?? 0
  }

  apply(operation: DataOperation): void {
    this.#contents.get(operation.inode)!.apply(operation)
  }

  files(): Map<string, Buffer> {
    const found = new Map<string, Buffer>()
    const walk = (inode: number, path: string) => {
      for (const [name, child] of this.#folders.get(inode)!) {
        if (this.#folders.has(child)) walk(child, `${path}${name}/`)
        else if (this.#contents.has(child)) found.set(path + name, this.#contents.get(child)!.bytes())
      }
    }
    walk(rootInode, '')
    return found
  }
}
