/** The content of a file while operations are applied to it. What it began with stays as it is. */
import type { DataOperation } from '../recorder/operations.ts'

/** What becomes of an operation that is not yet safe: whole, not there, or some of its sectors only. */
export type Fate = 'kept' | 'lost' | Torn

/** Says which sectors of a write reach the disk. @param sector counted from the start of the write */
export type Torn = (sector: number, count: number) => boolean

/** Bytes that a disk writes as a whole. */
const sectorSize = 512

const empty = Buffer.alloc(0)

export class Content {
  /** Room for more than the content; a copy once something was changed. */
  #room: Buffer
  #size: number
  #isOwn = false

  constructor(before: Buffer = empty) {
    this.#room = before
    this.#size = before.length
  }

  get size(): number {
    return this.#size
  }

  /** @returns what does not change any more: the next change is made to a copy */
  bytes(): Buffer {
    if (!this.#isOwn) return this.#room
    this.#isOwn = false
    this.#room = this.#room.subarray(0, this.#size)
    return this.#room
  }

  apply(operation: DataOperation, fate: Fate = 'kept'): void {
    if (fate === 'lost') return
    if (operation.kind === 'truncate') {
      // Sizes are whole or not there.
      if (fate === 'kept' || fate(0, 1)) this.#resize(operation.size)
      return
    }
    const { offset, data } = operation
    if (fate === 'kept') {
      this.#write(offset, data)
      return
    }
    const first = Math.floor(offset / sectorSize)
    const last = Math.floor((offset + data.length - 1) / sectorSize)
    for (let sector = first; sector <= last; sector++) {
      if (!fate(sector - first, last - first + 1)) continue
      const from = Math.max(0, sector * sectorSize - offset)
      this.#write(offset + from, data.subarray(from, (sector + 1) * sectorSize - offset))
    }
  }

  #write(offset: number, data: Buffer): void {
    this.#resize(Math.max(this.#size, offset + data.length))
    data.copy(this.#room, offset)
  }

  /** What lies between the end and a write further on is zero. */
  #resize(size: number): void {
    if (!this.#isOwn || size > this.#room.length) {
      const room = Buffer.allocUnsafeSlow(Math.max(size, this.#isOwn ? 2 * size : size))
      const kept = this.#room.copy(room, 0, 0, Math.min(size, this.#size))
      room.fill(0, kept)
      this.#room = room
      this.#isOwn = true
    }
    if (size < this.#size) this.#room.fill(0, size, this.#size)
    this.#size = size
  }
}

/** The contents of the files of a disk, by inode. */
export class Contents {
  readonly #base: ReadonlyMap<number, Buffer>
  readonly #changed = new Map<number, Content>()

  constructor(base: ReadonlyMap<number, Buffer>) {
    this.#base = base
  }

  of(inode: number): Content {
    const known = this.#changed.get(inode) ?? new Content(this.#base.get(inode))
    this.#changed.set(inode, known)
    return known
  }

  bytesOf(inode: number): Buffer {
    return this.#changed.get(inode)?.bytes() ?? this.#base.get(inode) ?? empty
  }

  /** What was changed, by inode. */
  *changed(): Generator<[number, Buffer]> {
    for (const [inode, content] of this.#changed) yield [inode, content.bytes()]
  }
}
