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

const block = 512
/** Bytes that tell how a stream is compressed. */
const magicBytes = 4
const isGzip = (start: Buffer) => start.readUInt16BE() === 0x1f8b
const broken = (detail: string, cause?: unknown) => new RpcError('invalid_image', detail, { cause })

/**
 * The bytes of a stream that may be compressed with gzip or zstd (OCI image specification, layer media types).
 *
 * @param take is called with every chunk; throws to stop, for example on a decompression bomb
 */
export async function* unpacked(
  content: AsyncIterable<Uint8Array>,
  take: (chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  const { start, whole } = await peek(content)
  const isLong = start.length >= magicBytes
  const isOfFrames = isLong && isZstd(start)
  if (!isOfFrames && !(isLong && isGzip(start))) {
    for await (const chunk of whole) {
      take(chunk)
      yield chunk
    }
    return
  }
  const decompress = isOfFrames
    ? createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: maxWindowLog } })
    : createGunzip()
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

/** The first bytes of a stream, however its chunks fall, and the stream with them. */
async function peek(
  content: AsyncIterable<Uint8Array>,
): Promise<{ start: Buffer; whole: AsyncIterable<Uint8Array> }> {
  const source = content[Symbol.asyncIterator]()
  let start = Buffer.alloc(0)
  let isDone = false
  while (start.length < magicBytes && !isDone) {
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
  return { start, whole: whole() }
}

/**
 * Reads a tar archive (POSIX.1-2017 pax, ustar, GNU), one entry after the other.
 *
 * @param options.mayBeEmpty whether an archive without entries is accepted: tools write layers that change nothing
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
  let isFound = false
  const onEntryFound = (entry: Entry) => {
    isFound = true
    working = working.then(() => take(entry))
  }
  const onIgnored = (entry: Entry) =>
    fail(
      broken(
        `the archive has an entry of type ${entry.type} that is not understood, or a header that is too large`,
      ),
    )
  const onError = (cause: Error) => fail(broken(`the archive is broken: ${cause.message}`, cause))
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
  try {
    for await (const chunk of content) {
      if (failure !== undefined) break
      size += chunk.length
      // What follows the end mark is read, for it may be too much, and is nothing.
      if (isOver || parser.write(Buffer.from(chunk))) continue
      await Promise.race([
        new Promise<void>((resolve) => parser.once('drain', resolve)),
        over,
        stopped.promise,
      ])
    }
    // An archive with nothing but its end mark is complete, and the parser would take it for another format.
    if (failure === undefined && (isFound || !isOver)) {
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
  if (entries === 0 && !(mayBeEmpty && isOver)) throw broken('the archive is empty, or no tar archive')
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
