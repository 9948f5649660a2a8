/**
 * One JSON document that survives a power cut at any moment.
 *
 * Two files take turns ({@link readSlot}). The older file is written, followed by fdatasync, so that the newer one is
 * whole at every moment. At start the newest whole one counts. Changes that come while a write is under way share the next one
 * (group commit).
 */
import { randomUUID } from 'node:crypto'
import { type FileHandle, link, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Change, createChangeQueue } from './change-queue.ts'
import { markSlot, readSlot, type Slot, slotContent, type WholeSlot, writeSlot } from './slot.ts'
import { StoreError } from './store-error.ts'
import { syncFoundNames } from './sync-folder.ts'
import { writeOnce } from './write-once.ts'

export interface DocumentFormat<T> {
  /** Raised with every change of the shape. A program that knows a lower version refuses the document. From 1. */
  readonly version: number
  readonly initial: T
  /**
   * Turns parsed JSON into a document, also that of an earlier version.
   *
   * @param version that wrote it
   * @throws when it is none, or has members that this version does not know
   */
  readonly read: (json: unknown, version: number) => T
}

/** What a person should know of the files of a document. */
export interface DocumentNotice {
  /** `reset`: the document starts empty. `rolled_back`: the one before the last is used, as the last cannot be read. */
  readonly kind: 'reset' | 'rolled_back'
  /** What happened, with the names of the files, for the log. */
  readonly detail: string
}

export interface DocumentStore<T> {
  /** The document as it is on the disk, with the lazy changes. A change that is being written is not in it yet. */
  readonly value: T
  readonly notices: readonly DocumentNotice[]
  /**
   * Changes the document. Resolves when the change is on the disk.
   *
   * @param change gets the document with all changes before this one, also those that are being written, and gives the new one.
   *   It does nothing else and may run again. What must hold when the change is made is checked here: a change that throws
   *   changes nothing
   * @throws StoreError when it could not be written; then nothing was changed. Also what the change throws
   */
  update(change: Change<T>): Promise<void>
  /**
   * Changes the document in memory; the change is written to the disk with the next `update` that succeeds. For what can be found
   * out
   * again.
   */
  updateLazily(change: Change<T>): void
  /** Resolves when every change made so far is on the disk or was refused. */
  settled(): Promise<void>
  close(): Promise<void>
}

const slots = ['a', 'b'] as const

/**
 * @param path of the document; the files are `<path>.a` and `<path>.b`. Its folder exists
 * @throws StoreError when the folder can't be used, or a later version of the program wrote the files: then they are unchanged
 */
export async function openDocument<T>(path: string, format: DocumentFormat<T>): Promise<DocumentStore<T>> {
  const files = await openFiles(path, format)
  const { handles } = files
  const queue = createChangeQueue(files.value)
  let { generation, next } = files
  let writing: Promise<void> | undefined

  async function write(handle: FileHandle, content: Buffer): Promise<void> {
    try {
      await writeSlot(handle, content)
    } catch (cause) {
      // A refused change must not come back with the next start. Where the disk refuses this as well, it may.
      await writeSlot(handle, emptySlot(format.version)).catch(() => undefined)
      throw cause
    }
  }

  async function writeAll(): Promise<void> {
    while (queue.isWaiting) {
      const batch = queue.take()
      const handle = handles[next]!
      try {
        const content = slotContent(++generation, format.version, toBody(batch.value))
        await write(handle, content)
        next = 1 - next
        batch.written()
        await markSlot(handle, content).catch(() => undefined)
      } catch (cause) {
        const message = `can't write ${path}.${slots[next]}: ${(cause as Error).message}`
        batch.failed(new StoreError(message, { cause }))
      }
    }
    writing = undefined
  }

  return {
    get value() {
      return queue.value
    },
    notices: files.notices,
    update(change) {
      const done = queue.add(change)
      if (queue.isWaiting) writing ??= writeAll()
      return done
    },
    updateLazily: queue.addLazily,
    settled: async () => writing,
    async close() {
      await writing
      for (const handle of handles) await handle.close()
    },
  }
}

/**
 * For a document that is opened later, or never.
 *
 * @throws StoreError when a later version of the program wrote it
 */
export async function expectKnownVersion(path: string, version: number): Promise<void> {
  for (const slot of slots) await readSlot(`${path}.${slot}`, version)
}

interface Files<T> {
  readonly handles: readonly FileHandle[]
  readonly value: T
  readonly generation: number
  /** Index of the slot that is written next. */
  readonly next: number
  readonly notices: readonly DocumentNotice[]
}

async function openFiles<T>(path: string, format: DocumentFormat<T>): Promise<Files<T>> {
  const found = await Promise.all(slots.map((slot) => readSlot(`${path}.${slot}`, format.version)))
  const current = newestOf(found)
  try {
    if (!current) return await startAnew(path, format, found)
    const { slot, at } = current
    await syncFoundNames(dirname(path))
    const value = parse(`${path}.${slots[at]}`, slot, format)
    const other = found[1 - at]!
    const notices: DocumentNotice[] = []
    if (isLost(other, slot)) notices.push(await setAside(path, [slots[1 - at]!], 'rolled_back'))
    if (notices.length > 0 || other.kind === 'missing')
      await writeOnce(`${path}.${slots[1 - at]}`, emptySlot(format.version))
    const handles = await openBoth(path)
    if (!slot.isMarked) await confirm(handles[at]!, slot)
    return { handles, value, generation: slot.generation, next: 1 - at, notices }
  } catch (cause) {
    if (cause instanceof StoreError) throw cause
    const message = `can't use the state folder ${dirname(path)}: ${(cause as Error).message}`
    throw new StoreError(message, { cause })
  }
}

function newestOf(found: readonly Slot[]): { slot: WholeSlot; at: number } | undefined {
  const whole = found.flatMap((slot, at) => (slot.kind === 'whole' ? [{ slot, at }] : []))
  return whole.sort((one, other) => other.slot.generation - one.slot.generation)[0]
}

/** Number of the first write; no change was acknowledged before the second. */
const firstGeneration = 1

/** Whether the other slot may have held a newer document that was acknowledged. */
function isLost(other: Slot, { generation, version }: WholeSlot): boolean {
  if (other.kind === 'damaged') {
    // The first format left the second file empty until the second write.
    if (version === 0 && generation === firstGeneration) return false
    return other.generation === undefined || other.generation > generation
  }
  return other.kind === 'missing' && generation > firstGeneration
}

/** A document that was never written, or that is damaged in both files. Nothing is acknowledged before both are on the disk. */
async function startAnew<T>(
  path: string,
  format: DocumentFormat<T>,
  found: readonly Slot[],
): Promise<Files<T>> {
  const { version, initial } = format
  const isNew = found.every(({ kind }) => kind === 'missing')
  const notices = isNew ? [] : [await setAside(path, slots, 'reset')]
  await writeOnce(`${path}.a`, slotContent(firstGeneration, version, toBody(initial), true))
  await writeOnce(`${path}.b`, emptySlot(version))
  const handles = await openBoth(path)
  return { handles, value: initial, generation: firstGeneration, next: 1, notices }
}

const openBoth = (path: string): Promise<FileHandle[]> =>
  Promise.all(slots.map((slot) => open(`${path}.${slot}`, 'r+')))

/** A process that exited may have written the slot and not synced it: what was seen of it must not be lost from now on. */
async function confirm(handle: FileHandle, { generation, version, body }: WholeSlot): Promise<void> {
  await handle.datasync()
  await markSlot(handle, slotContent(generation, version, body))
}

const toBody = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
const emptySlot = (version: number): Buffer => slotContent(0, version)

function parse<T>(file: string, { body, version }: WholeSlot, format: DocumentFormat<T>): T {
  try {
    return format.read(JSON.parse(body.toString()), version)
  } catch (cause) {
    // What was written is whole: another version wrote it, and setting it aside would lose it.
    throw new StoreError(
      `the state in ${file} is of a format that this version does not know: ${(cause as Error).message}. ` +
        'Nothing was changed. Start the version that wrote it, or restore a backup',
      { cause, isUnrepairable: true },
    )
  }
}

async function setAside(
  path: string,
  damaged: readonly string[],
  kind: DocumentNotice['kind'],
): Promise<DocumentNotice> {
  const names: string[] = []
  for (const slot of damaged) {
    const file = `${path}.${slot}`
    const aside = `${file}.damaged-${randomUUID().slice(0, 8)}`
    // A second name: the file keeps its own until it is replaced, so that a failure in between hides nothing.
    await link(file, aside)
      .catch(() => rename(file, aside))
      .then(
        () => names.push(aside),
        () => undefined,
      )
  }
  const where = names.length === 0 ? 'a file of it is missing' : `it is set aside as ${names.join(' and ')}`
  const what =
    kind === 'reset'
      ? 'what it held is gone until you restore it from a backup'
      : 'the document from before its last change is used: repeat what was changed last'
  return { kind, detail: `the state in ${path} is damaged; ${where}; ${what}` }
}
