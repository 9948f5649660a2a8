/**
 * One of the two files of a state document: a header line, then the document as JSON.
 *
 *     selvedge document <file format> <version> <generation> <length> <SHA-256> <CRC-32> <mark>
 *
 * The CRC-32 is of the line before it. The header fits into one sector of a disk, so a power cut leaves the old one or the new
 * one: a line with a wrong CRC-32 is damage. The mark is `-` while the document is written and becomes `+` once it is on the
 * disk. A header with `-` before a wrong document is a write that a power cut interrupted and that was never acknowledged; one with
 * `+` is damage. Bytes after the length are of a longer, older generation, or zero: no file is shorter than the longest header, as
 * a power cut may keep what was written over a file and lose what it grew by.
 */
import { createHash } from 'node:crypto'
import { type FileHandle, readFile } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { StoreError } from './store-error.ts'

export interface WholeSlot {
  readonly kind: 'whole'
  /** Counts the writes of the document; the higher one of two slots is newer. */
  readonly generation: number
  /** Version of the document's shape. */
  readonly version: number
  readonly body: Buffer
  /** Whether it is known to be on the disk. */
  readonly isMarked: boolean
}

export type Slot =
  | WholeSlot
  /** `torn`: a write that was interrupted. `empty`: nothing was stored, or what was is withdrawn. */
  | { readonly kind: 'missing' | 'empty' | 'torn' }
  /** The generation is undefined when the header is damaged. */
  | { readonly kind: 'damaged'; readonly generation: number | undefined }

const fileFormat = 1
const marks = { pending: '-', done: '+' } as const
const header =
  /^(selvedge document (\d{1,9}) (\d{1,9}) (\d{1,15}) (\d{1,9}) ([0-9a-f]{64})) ([0-9a-f]{8}) (.)$/s
/** The first format, without version, checksum of the header, and mark. */
const firstHeader = /^selvedge (\d{1,15}) (\d{1,9}) ([0-9a-f]{64})$/
/** Longest header line in bytes. */
const maxHeaderBytes = 200

/**
 * @param known version of the document's shape that this program writes
 * @throws StoreError when the file can't be read, or a later version of the program wrote it
 */
export async function readSlot(file: string, known: number): Promise<Slot> {
  const content = await readFile(file).catch((cause) => {
    if (cause.code === 'ENOENT') return undefined
    throw new StoreError(`can't read ${file}: ${cause.message}`, { cause })
  })
  if (!content) return { kind: 'missing' }
  const end = content.subarray(0, maxHeaderBytes).indexOf(0x0a)
  const line = content.toString('latin1', 0, Math.max(end, 0))
  const rest = content.subarray(end + 1)
  return readFirstFormat(line, rest) ?? readLine(line, rest, file, known)
}

function readLine(line: string, rest: Buffer, file: string, known: number): Slot {
  const match = header.exec(line)
  if (!match || match[7] !== checksum(match[1]!)) return { kind: 'damaged', generation: undefined }
  const [format, version, generation, length] = match.slice(2, 6).map(Number) as [
    number,
    number,
    number,
    number,
  ]
  if (format > fileFormat) throw newer(file, 'file format', format, fileFormat)
  if (version > known) throw newer(file, 'version', version, known)
  if (length === 0) return { kind: 'empty' }
  const body = rest.subarray(0, length)
  const isMarked = match[8] !== marks.pending
  if (body.length === length && digestOf(generation, body) === match[6])
    return { kind: 'whole', generation, version, body, isMarked }
  return isMarked ? { kind: 'damaged', generation } : { kind: 'torn' }
}

/** What an earlier release left. Damage and an interrupted write look the same there. */
function readFirstFormat(line: string, rest: Buffer): Slot | undefined {
  const match = firstHeader.exec(line)
  if (!match) return undefined
  const generation = Number(match[1])
  const length = Number(match[2])
  const body = rest.subarray(0, length)
  const isWhole = body.length === length && digestOf(generation, body) === match[3]
  return isWhole ? { kind: 'whole', generation, version: 0, body, isMarked: true } : { kind: 'torn' }
}

function newer(file: string, what: string, found: number, known: number): StoreError {
  return new StoreError(
    `${file} was written by a later version of this program: it is of ${what} ${found}, and this program knows ${what} ${known}. ` +
      'Nothing was changed. Start the later version again, or restore a backup from before it ran',
    { isUnrepairable: true },
  )
}

/** The content of a slot. @param body undefined for one that stores nothing */
export function slotContent(
  generation: number,
  version: number,
  body: Buffer = Buffer.alloc(0),
  isDone = false,
): Buffer {
  const line = `selvedge document ${fileFormat} ${version} ${generation} ${body.length} ${digestOf(generation, body)}`
  const head = Buffer.from(`${line} ${checksum(line)} ${isDone ? marks.done : marks.pending}\n`)
  const padding = Buffer.alloc(Math.max(0, maxHeaderBytes - head.length - body.length))
  return Buffer.concat([head, body, padding])
}

/** Writes a slot; it is on the disk when this resolves. */
export async function writeSlot(handle: FileHandle, content: Buffer): Promise<void> {
  for (let written = 0; written < content.length; ) {
    const { bytesWritten } = await handle.write(content, written, content.length - written, written)
    if (bytesWritten === 0) throw new Error('the file system wrote nothing')
    written += bytesWritten
  }
  await handle.datasync()
}

/** Notes that the slot is on the disk. It need not be synced: without the mark damage looks like an interrupted write. */
export async function markSlot(handle: FileHandle, content: Buffer): Promise<void> {
  await handle.write(marks.done, content.indexOf(0x0a) - 1)
}

const checksum = (line: string): string => crc32(line).toString(16).padStart(8, '0')

/** Over the number, too: an interrupted write may put a new number before an old document. */
const digestOf = (generation: number, body: Buffer): string =>
  createHash('sha256').update(`${generation} `).update(body).digest('hex')
