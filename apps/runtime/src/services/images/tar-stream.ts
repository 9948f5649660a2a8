import { pipeline } from 'node:stream/promises'
import { constants, createGunzip, createZstdDecompress } from 'node:zlib'
import { RpcError } from '@selvedge/protocol'
import { safely } from '@selvedge/service-kit/safely'
import type { ReadEntry } from 'tar'
import { framesOf, isZstd } from './zstd-frames.ts'

export type Entry = ReadEntry

/** Maximum entries of one archive, and maximum bytes of one header. Images for devices have far less. */
const limits = { entries: 200_000, header: 64 * 1024 }

/**
 * Binary logarithm of the memory that a zstd stream may ask for: 32 MiB, the largest window of the tools that make images. A few
 * bytes can fill it, and by default it is 128 MiB.
 */
const maxWindowLog = 25

/** Bytes that are unpacked at once. With the 16 KiB of Node.js, half of the time is that of the garbage collector. */
const unpackedBytes = 256 * 1024

const block = 512
/** Bytes that tell how a stream is compressed. */
const magicBytes = 4
const isGzip = (start: Buffer) => start.readUInt16BE() === 0x1f8b
/** How streams begin that are compressed in another way: `xz` 1.2 § 2.1.1, `bzip2` with its first block, frames of LZ4 1.6 and before. */
const others: readonly (readonly [string, Buffer])[] = [
  ['xz', Buffer.from('fd377a585a00', 'hex')],
  ...Array.from({ length: 9 }, (_, at) => ['bzip2', Buffer.from(`BZh${at + 1}1AY&SY`)] as const),
  ['lz4', Buffer.from('04224d18', 'hex')],
  ['lz4', Buffer.from('02214c18', 'hex')],
]
/** The longest of these. */
const startBytes = 10
const broken = (detail: string, cause?: unknown) => new RpcError('invalid_image', detail, { cause })

/**
 * The bytes of a stream that may be compressed with gzip or zstd (OCI image specification, layer media types).
 *
 * @param take is called with every chunk; throws to stop, for example on a decompression bomb
 * @throws RpcError `unsupported_image` if it is compressed with xz, bzip2 or lz4, `invalid_image` if it is broken
 */
export async function* unpacked(
  content: AsyncIterable<Uint8Array>,
  take: (chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  const { start, whole, close } = await peek(content)
  const isLong = start.length >= magicBytes
  const isOfFrames = isLong && isZstd(start)
  const [other] = others.find(([, magic]) => start.subarray(0, magic.length).equals(magic)) ?? []
  if (other !== undefined) {
    await close()
    throw new RpcError(
      'unsupported_image',
      `it is compressed with ${other}; archives and layers may be compressed with gzip or zstd, or not at all`,
      { hint: 'Compress it with "gzip" or "zstd", or have the tool that builds the image do that.' },
    )
  }
  if (!isOfFrames && !(isLong && isGzip(start))) {
    for await (const chunk of whole) {
      take(chunk)
      yield chunk
    }
    return
  }
  const decompress = isOfFrames
    ? createZstdDecompress({
        chunkSize: unpackedBytes,
        params: { [constants.ZSTD_d_windowLogMax]: maxWindowLog },
      })
    : createGunzip({ chunkSize: unpackedBytes })
  pipeline(isOfFrames ? framesOf(whole) : whole, decompress).catch(() => undefined)
  let isFirst = true
  try {
    for await (const chunk of decompress as AsyncIterable<Buffer>) {
      if (isFirst && chunk.length >= magicBytes && (isGzip(chunk) || isZstd(chunk)))
        throw broken('the archive is compressed twice')
      isFirst = false
      take(chunk)
      yield chunk
    }
  } catch (cause) {
    if (cause instanceof RpcError) throw cause
    throw broken(`the compressed data is broken or cut short: ${(cause as Error).message}`, cause)
  } finally {
    decompress.destroy()
  }
}

/** The first bytes of a stream, however its chunks fall, and the stream with them; `close` ends it unread. */
async function peek(
  content: AsyncIterable<Uint8Array>,
): Promise<{ start: Buffer; whole: AsyncIterable<Uint8Array>; close(): Promise<void> }> {
  const source = content[Symbol.asyncIterator]()
  let start = Buffer.alloc(0)
  let isDone = false
  while (start.length < startBytes && !isDone) {
    const { value, done = false } = await source.next()
    isDone = done
    if (!done) start = Buffer.concat([start, value])
  }
  async function* whole(): AsyncGenerator<Uint8Array> {
    try {
      if (start.length > 0) yield start
      while (!isDone) {
        const { value, done = false } = await source.next()
        if (done) return
        yield value
      }
    } finally {
      await source.return?.()
    }
  }
  const close = async () => void (await source.return?.())
  return { start, whole: whole(), close }
}

/**
 * Reads a tar archive (POSIX.1-2017 pax, ustar, GNU), one entry after the other.
 *
 * @param options.mayBeEmpty whether an archive without entries is accepted, zeros alone or no byte at all: tools write layers that
 *   change nothing
 * @throws RpcError `invalid_image` where it is none, broken, cut short, or has an entry with a name that leads out of it
 */
export async function readTar(
  content: AsyncIterable<Uint8Array>,
  onEntry: (path: string, entry: Entry) => Promise<void>,
  { mayBeEmpty = false } = {},
): Promise<void> {
  let failure: unknown
  let working: Promise<void> = Promise.resolve()
  let current: Entry | undefined
  let entries = 0
  const stopped = Promise.withResolvers<void>()
  const fail = (cause: unknown) => {
    failure ??= cause
    stopped.resolve()
  }

  /** One entry at a time: what is read of it may be slower than the archive arrives. */
  async function take(entry: Entry): Promise<void> {
    if (++entries > limits.entries) fail(broken(`the archive has more than ${limits.entries} entries`))
    current = entry
    try {
      if (failure === undefined) await onEntry(cleanPath(entry.path), entry)
    } catch (cause) {
      fail(cause)
    }
    entry.resume()
  }

  const { Parser } = await import('./tar.lazy.ts')
  const parser = new Parser({ strict: true, maxMetaEntrySize: limits.header })
  const onEntryFound = (entry: Entry) => {
    working = working.then(() => take(entry))
  }
  const onIgnored = ({ type }: Entry) => fail(broken(whyIgnored(type)))
  const onError = (cause: Error) => fail(broken(whyBroken(cause, entries), cause))
  parser.on('entry', safely('tar.entry', onEntryFound, fail))
  parser.on('ignoredEntry', safely('tar.ignored-entry', onIgnored, fail))
  parser.on('error', safely('tar.error', onError, fail))
  let isOver = false
  const over = new Promise<void>((resolve) =>
    parser.once('eof', () => {
      isOver = true
      resolve()
    }),
  )
  const ended = new Promise<void>((resolve) => parser.once('end', resolve))
  let size = 0
  /** Whether nothing but zeros has come: an archive without entries. */
  let isBlank = true
  try {
    for await (const chunk of content) {
      if (failure !== undefined) break
      size += chunk.length
      isBlank &&= chunk.every((byte) => byte === 0)
      // What follows the end mark is read, for it may be too much, and is nothing.
      if (isOver || parser.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))) continue
      await Promise.race([
        new Promise<void>((resolve) => parser.once('drain', resolve)),
        over,
        stopped.promise,
      ])
    }
    // The parser takes zeros alone for no archive.
    if (failure === undefined && !isBlank) {
      // Some tools leave out the padding of the last entry. Digests show whether anything else is missing.
      if (!isOver && size % block !== 0) parser.write(Buffer.alloc(block - (size % block)))
      parser.end()
      await Promise.race([ended, stopped.promise])
    }
  } catch (cause) {
    fail(cause)
  }
  // The reader of an entry that will not be completed gets the error.
  if (failure !== undefined) current?.destroy(failure as Error)
  await working
  if (failure !== undefined) throw failure
  if (entries === 0 && !(mayBeEmpty && (isBlank || isOver)))
    throw broken('the archive is empty, or no tar archive')
}

function whyIgnored(type: string): string {
  if (type === 'SparseFile')
    return 'the archive has a sparse file in the old format of GNU tar; make it with "tar --format=pax", or without --sparse'
  return `the archive has an entry of type ${type} that is not understood, or a header that is too large`
}

/** A name without `./`; one that leads out of the archive is refused. */
function cleanPath(raw: string): string {
  // A root that names itself is what some tools begin with.
  if (/^\/+$/.test(raw)) return ''
  if (raw.startsWith('/') || raw.includes('\0') || raw.includes('\\..'))
    throw broken(`the archive has an entry with an absolute name: ${JSON.stringify(raw.slice(0, 200))}`)
  const parts = raw.split('/').filter((each) => each !== '' && each !== '.')
  if (parts.includes('..'))
    throw broken(`the archive has an entry that leads out of it: ${JSON.stringify(raw.slice(0, 200))}`)
  return parts.join('/')
}

/** @param entries that were read before */
const whyBroken = ({ message }: Error, entries: number): string =>
  entries === 0 && message.includes('checksum')
    ? 'the file is not a tar archive'
    : `the archive is broken: ${message.replace(/^TAR_\w+: /, '')}`
