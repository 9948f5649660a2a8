/**
 * What POSIX promises, and no more. Content is safe after a sync of its file; until then each of its sectors may have any of
 * its versions. A name is safe after a sync of its folder; until then it may be there or not. Nothing is in any order.
 */
import type { NameOperation, Operation, Sync } from '../recorder/operations.ts'
import { Contents, type Fate } from './content.ts'
import { type Disk, foldersOf, NameTree, type Pending, type State } from './disk.ts'

export class StrictDisk implements Disk {
  readonly #names = new NameTree()
  readonly #contents = new Map<number, Buffer>()
  #pending: Pending[] = []
  /** Folders that are still to be synced, by a rename from one into another. */
  readonly #halves = new Map<NameOperation, Set<number>>()

  apply(operation: Operation): void {
    if (operation.kind === 'answer') return
    if (operation.kind === 'sync') {
      this.#sync(operation)
      return
    }
    if (operation.kind === 'failed sync') {
      this.#forget(operation)
      return
    }
    if (operation.kind === 'link') this.#names.describe(operation)
    if (operation.kind === 'rename' && operation.from.folder !== operation.to.folder)
      this.#halves.set(operation, new Set([operation.from.folder, operation.to.folder]))
    this.#pending.push(operation)
  }

  pending(): readonly Pending[] {
    return this.#pending
  }

  cut(fateOf: (pending: Pending) => Fate): State {
    const names = this.#names.copy()
    const contents = new Contents(this.#contents)
    for (const operation of this.#pending) {
      const fate = fateOf(operation)
      if (operation.kind === 'write' || operation.kind === 'truncate')
        contents.of(operation.inode).apply(operation, fate)
      else if (fate !== 'lost') this.#name(names, operation)
    }
    return names.state((inode) => contents.bytesOf(inode))
  }

  #name(names: NameTree, operation: NameOperation): void {
    const left = this.#halves.get(operation)
    // The new name of a rename may be safe already, and replaced since.
    if (operation.kind !== 'unlink' && (!left || left.has(operation.to.folder)))
      names.set(operation.to.folder, operation.to.name, operation.inode)
    if (operation.kind === 'link') return
    const { folder, name } = operation.from
    // Of a rename into another folder that is synced alone, the old name may stay.
    if (!left || left.has(folder)) names.delete(folder, name, operation.inode)
  }

  #sync({ inode, entered }: Sync): void {
    const kept: Pending[] = []
    const contents = new Contents(this.#contents)
    for (const operation of this.#pending) {
      if (operation.at >= entered || !this.#isCovered(operation, inode)) {
        kept.push(operation)
        continue
      }
      if (operation.kind === 'write' || operation.kind === 'truncate')
        contents.of(operation.inode).apply(operation)
      else if (this.#isHalfDone(operation, inode)) kept.push(operation)
      else {
        this.#name(this.#names, operation)
        this.#halves.delete(operation)
      }
    }
    this.#pending = kept
    for (const [changed, content] of contents.changed()) this.#contents.set(changed, content)
  }

  #forget({ inode, entered }: Sync): void {
    this.#pending = this.#pending.filter((operation) => {
      if (operation.at >= entered || !this.#isCovered(operation, inode)) return true
      const left = operation.kind === 'rename' ? this.#halves.get(operation) : undefined
      // Of a rename between folders the other half may still become safe.
      if (left && inode !== undefined) left.delete(inode)
      return (left?.size ?? 0) > 0 && inode !== undefined
    })
  }

  #isCovered(operation: Pending, inode: number | undefined): boolean {
    if (inode === undefined) return true
    if (operation.kind === 'write' || operation.kind === 'truncate') return operation.inode === inode
    return foldersOf(operation).includes(inode)
  }

  /** A rename between folders whose new name is safe, while the old one is not yet gone permanently. */
  #isHalfDone(operation: NameOperation, inode: number | undefined): boolean {
    const left = this.#halves.get(operation)
    if (!left || operation.kind !== 'rename' || inode === undefined) return false
    left.delete(inode)
    if (inode === operation.to.folder)
      this.#names.set(operation.to.folder, operation.to.name, operation.inode)
    return left.size > 0
  }
}
