/**
 * One JSON document that survives a power cut at any moment.
 *
 * Two files take turns. Each holds a header line `selvedge <generation> <length> <digest>` and the document; a write goes to
 * the older one and is followed by fdatasync, so that the newer one is whole at every moment. At start the newest valid
 * generation counts. Changes that come while a write is under way share the next one (group commit).
 */
import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StoreError } from './store-error.ts'
import { syncFolder } from './sync-folder.ts'

export interface DocumentStore<T> {
  /** The document as it is now, changes under way included. */
  readonly value: T
  /** What a person should know of the files, such as that one was set aside. */
  readonly notices: readonly string[]
  /**
   * Changes the document. The promise is kept once the change is on the disk.
   *
   * @param change gives the new document and does nothing else; it may run twice
   * @throws StoreError when it could not be written; then the change is taken back
   */
  update(change: (value: T) => T): Promise<void>
  /** Changes the document in memory; the change goes to the disk with the next `update`. For what can be found out again. */
  updateLazily(change: (value: T) => T): void
  /** Kept once every change made so far is on the disk, or taken back because it could not be written. */
  settled(): Promise<void>
  close(): Promise<void>
}

interface Change<T> {
  readonly apply: (value: T) => T
  readonly resolve: () => void
  readonly reject: (cause: unknown) => void
}

interface Generation<T> {
  readonly number: number
  readonly value: T
}

const slots = ['a', 'b'] as const

/**
 * @param path of the document; the files are `<path>.a` and `<path>.b`
 * @param read turns parsed JSON into a document and throws where it is none
 * @throws StoreError when the folder can't be used, or what it holds is of another version's format
 */
export async function openDocument<T>(
  path: string,
  initial: T,
  read: (json: unknown) => T,
): Promise<DocumentStore<T>> {
  const notices: string[] = []
  const found: (Generation<T> | undefined)[] = []
  let damaged = 0
  for (const slot of slots) {
    const file = `${path}.${slot}`
    const content = await readFile(file).catch((cause) => {
      if (cause.code === 'ENOENT') return undefined
      throw new StoreError(`can't read ${file}: ${cause.message}`, { cause })
    })
    const generation = content?.length ? parseGeneration(file, content, read) : undefined
    if (content?.length && !generation) damaged++
    found.push(generation)
  }
  let newest = 0
  if (found[1] && found[1].number > (found[0]?.number ?? -1)) newest = 1
  const current = found[newest]
  if (!current && damaged > 0) notices.push(await setAside(path))

  const handles = await openSlots(path)
  let durable = current?.value ?? initial
  let value = durable
  let generation = current?.number ?? 0
  let slot = current ? 1 - newest : 0
  let waiting: Change<T>[] = []
  let writing: Promise<void> | undefined

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const served = waiting
      const written = value
      waiting = []
      try {
        await writeGeneration(handles[slot]!, ++generation, written)
        slot = 1 - slot
        durable = written
        for (const each of served) each.resolve()
      } catch (cause) {
        value = waiting.reduce((before, { apply }) => apply(before), durable)
        const error = new StoreError(`can't write ${path}.${slots[slot]}: ${(cause as Error).message}`, {
          cause,
        })
        for (const each of served) each.reject(error)
      }
    }
    writing = undefined
  }

  return {
    get value() {
      return value
    },
    notices,
    update(change) {
      value = change(value)
      const done = new Promise<void>((resolve, reject) => waiting.push({ apply: change, resolve, reject }))
      writing ??= writeAll()
      return done
    },
    updateLazily(change) {
      value = change(value)
      durable = change(durable)
    },
    settled: async () => writing,
    async close() {
      await writing
      for (const handle of handles) await handle.close()
    },
  }
}

/** Makes both files, and their names durable in the folder, before anything is acknowledged. */
async function openSlots(path: string): Promise<FileHandle[]> {
  try {
    const handles: FileHandle[] = []
    for (const slot of slots) handles.push(await openOrCreate(`${path}.${slot}`))
    await syncFolder(dirname(path))
    return handles
  } catch (cause) {
    throw new StoreError(`can't use the state folder ${dirname(path)}: ${(cause as Error).message}`, {
      cause,
    })
  }
}

const openOrCreate = (file: string) =>
  open(file, 'r+').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT') throw cause
    return open(file, 'wx+', 0o600)
  })

async function writeGeneration(handle: FileHandle, generation: number, value: unknown): Promise<void> {
  const body = Buffer.from(JSON.stringify(value))
  const header = `selvedge ${generation} ${body.length} ${digestOf(generation, body)}\n`
  const content = Buffer.concat([Buffer.from(header), body])
  let written = 0
  while (written < content.length) {
    written += (await handle.write(content, written, content.length - written, written)).bytesWritten
  }
  await handle.datasync()
}

/** Bytes after the given length are of a longer, older generation. */
function parseGeneration<T>(
  file: string,
  content: Buffer,
  read: (json: unknown) => T,
): Generation<T> | undefined {
  const end = content.indexOf(0x0a)
  const match = /^selvedge (\d{1,15}) (\d{1,9}) ([0-9a-f]{64})$/.exec(
    content.toString('latin1', 0, Math.max(end, 0)),
  )
  if (!match) return undefined
  const [, number, length, digest] = match as unknown as [string, string, string, string]
  const body = content.subarray(end + 1, end + 1 + Number(length))
  if (body.length !== Number(length) || digestOf(Number(number), body) !== digest) return undefined
  try {
    return { number: Number(number), value: read(JSON.parse(body.toString())) }
  } catch (cause) {
    // What was written is whole: another version wrote it, and setting it aside would lose it.
    throw new StoreError(
      `the state in ${file} is of a format that this version does not know. Start the newer version again, or restore a backup`,
      { cause, isUnrepairable: true },
    )
  }
}

async function setAside(path: string): Promise<string> {
  const names: string[] = []
  for (const slot of slots) {
    const file = `${path}.${slot}`
    const aside = `${file}.damaged-${randomUUID().slice(0, 8)}`
    const moved = await rename(file, aside).then(
      () => true,
      () => false,
    )
    if (moved) names.push(aside)
  }
  return `the state in ${path} was damaged and is set aside as ${names.join(' and ')}; what it held is gone until you restore it from a backup`
}

/** Over the number, too: a torn write may put a new number before an old document. */
const digestOf = (generation: number, body: Buffer): string =>
  createHash('sha256').update(`${generation} `).update(body).digest('hex')
