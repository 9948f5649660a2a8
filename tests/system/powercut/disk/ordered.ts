/**
 * What ext4 does with its default `data=ordered`. Names and shrinking sizes reach the disk in the order in which they came. A file
 * grows on the disk after the data that it grows by, some time after the write; what is written over old data may arrive at any
 * time, sector by sector. A sync of any file commits all names before it; where only the data is asked for (fdatasync) and the
 * file did not grow, it commits none. A rename over another file waits for the data of the new one.
 */
import type { DataOperation, NameOperation, Operation, Sync } from '../recorder/operations.ts'
import { Contents, type Fate } from './content.ts'
import { type Disk, foldersOf, NameTree, type Pending, type State } from './disk.ts'

/** Bytes that ext4 makes room for at a time. */
const blockSize = 4096

/** Order of its own on the disk: names, and sizes that shrink. */
const isOrdered = (operation: Pending): boolean => operation.kind !== 'write'

export class OrderedDisk implements Disk {
  readonly #names = new NameTree()
  readonly #contents = new Map<number, Buffer>()
  #pending: Pending[] = []

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
    this.#pending.push(operation)
  }

  pending(): readonly Pending[] {
    return this.#pending
  }

  cut(fateOf: (pending: Pending) => Fate): State {
    const names = this.#names.copy()
    const contents = new Contents(this.#contents)
    /** The first thing that was lost of what has an order takes all after it with it. */
    const firstLost = this.#pending.find((each) => isOrdered(each) && fateOf(each) === 'lost')?.at ?? Infinity
    const flushed = this.#flushedByRename(firstLost)
    const lostGrowth = new Set<number>()
    for (const operation of this.#pending) {
      if (operation.kind === 'write') {
        const fate = flushed.has(operation) ? 'kept' : fateOf(operation)
        const content = contents.of(operation.inode)
        const [overwritten, grown] = parts(operation, content.size)
        if (overwritten) content.apply(overwritten, fate)
        // A size comes after all names before it, and after the growth before it.
        const mayGrow = operation.at < firstLost && !lostGrowth.has(operation.inode)
        const kept = grown && mayGrow ? growthOf(grown, fate) : undefined
        if (kept) content.apply(kept)
        if (grown && kept?.data.length !== grown.data.length) lostGrowth.add(operation.inode)
      } else if (operation.at < firstLost) {
        if (operation.kind === 'truncate') {
          contents.of(operation.inode).apply(operation)
          lostGrowth.delete(operation.inode)
        } else rename(names, operation)
      }
    }
    return names.state((inode) => contents.bytesOf(inode))
  }

  /** Writes that a rename over another file pulls to the disk. */
  #flushedByRename(firstLost: number): Set<Pending> {
    const found = new Set<Pending>()
    for (const operation of this.#pending) {
      if (operation.kind !== 'rename' || operation.replaced === undefined || operation.at >= firstLost)
        continue
      for (const write of this.#pending)
        if (write.kind === 'write' && write.inode === operation.inode && write.at < operation.at)
          found.add(write)
    }
    return found
  }

  #sync({ inode, entered, dataOnly }: Sync): void {
    const isOwn = (each: Pending): each is DataOperation =>
      (each.kind === 'write' || each.kind === 'truncate') && (inode === undefined || each.inode === inode)
    const done = this.#pending.filter((each) => each.at < entered)
    const commits =
      !dataOnly ||
      done.some((each) => isOwn(each) && this.#changesSize(each)) ||
      this.#isNamedAnew(inode, done)
    const flushed = commits ? this.#flushedByRename(entered) : new Set<Pending>()
    /** A size that shrank stands on the disk after what was written before it. */
    const shrunk = new Map<number, number>()
    if (commits) for (const each of done) if (each.kind === 'truncate') shrunk.set(each.inode, each.at)
    const isShrunk = (each: Pending) => each.kind === 'write' && each.at < (shrunk.get(each.inode) ?? 0)
    const contents = new Contents(this.#contents)
    this.#pending = this.#pending.filter((each) => {
      const isSafe =
        each.at < entered &&
        (isOwn(each) || isShrunk(each) || flushed.has(each) || (commits && isOrdered(each)))
      if (!isSafe) return true
      if (each.kind === 'write' || each.kind === 'truncate') contents.of(each.inode).apply(each)
      else rename(this.#names, each)
      return false
    })
    for (const [changed, content] of contents.changed()) this.#contents.set(changed, content)
  }

  /** The data of a file, or the names of a folder. */
  #forget({ inode, entered }: Sync): void {
    this.#pending = this.#pending.filter(
      (each) =>
        each.at >= entered ||
        (each.kind === 'write' || each.kind === 'truncate'
          ? each.inode !== inode
          : !foldersOf(each).some((folder) => folder === inode)),
    )
  }

  /** A file whose own name is new, or a folder that holds a new name: for the latter, names are data. */
  #isNamedAnew(inode: number | undefined, done: readonly Pending[]): boolean {
    return done.some(
      (each) =>
        (each.kind === 'link' && each.inode === inode) ||
        (each.kind !== 'write' && each.kind !== 'truncate' && foldersOf(each).some((own) => own === inode)),
    )
  }

  #changesSize(operation: DataOperation): boolean {
    if (operation.kind === 'truncate') return true
    return operation.offset + operation.data.length > (this.#contents.get(operation.inode)?.length ?? 0)
  }
}

function rename(names: NameTree, operation: NameOperation): void {
  if (operation.kind !== 'link') names.delete(operation.from.folder, operation.from.name, operation.inode)
  if (operation.kind !== 'unlink') names.set(operation.to.folder, operation.to.name, operation.inode)
}

type Write = Extract<DataOperation, { kind: 'write' }>

/** The part of a write that lies within the file as it is, and the part that makes it longer. */
function parts(operation: Write, size: number): [Write | undefined, Write | undefined] {
  const { offset, data } = operation
  const inside = Math.min(Math.max(0, size - offset), data.length)
  return [
    inside > 0 ? { ...operation, data: data.subarray(0, inside) } : undefined,
    inside < data.length ? { ...operation, offset: offset + inside, data: data.subarray(inside) } : undefined,
  ]
}

/** As many blocks from the start of it as a torn write keeps. */
function growthOf(operation: Write, fate: Fate): Write | undefined {
  if (fate === 'lost') return undefined
  if (fate === 'kept') return operation
  const count = Math.ceil(operation.data.length / blockSize)
  let kept = 0
  while (kept < count && fate(kept, count)) kept++
  return kept === 0 ? undefined : { ...operation, data: operation.data.subarray(0, kept * blockSize) }
}
