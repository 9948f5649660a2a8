/**
 * Cuts a zstd stream where its frames end (RFC 8878 § 3.1): the decompressor of Node.js drops what follows a frame in the same chunk.
 * Skippable frames, such as the table of contents of zstd:chunked, are left out.
 */
import { RpcError } from '@selvedge/protocol'

const zstdMagic = 0xfd2fb528
/** The last four bits may have any value. */
const skippableMagic = 0x184d2a50
/** Bytes of the dictionary ID and of the content size, by their flags. */
const dictionaryBytes = [0, 1, 2, 4]
const contentSizeBytes = [0, 2, 4, 8]
const blockTypes = { runLength: 1, reserved: 3 } as const
/** Tools write a frame for each file. */
const maxFrames = 400_000

type Part = 'magic' | 'skipped size' | 'skipped' | 'descriptor' | 'header' | 'block' | 'body' | 'checksum'
const isOutside = (part: Part): boolean => part === 'magic' || part === 'skipped size' || part === 'skipped'

const broken = (detail: string) => new RpcError('invalid_image', detail)

/** Whether a stream that begins with these bytes is a zstd stream. @param start at least four bytes */
export function isZstd(start: Buffer): boolean {
  const magic = start.readUInt32LE()
  return magic === zstdMagic || isSkippable(magic)
}

const isSkippable = (magic: number): boolean => (magic & 0xfffffff0) >>> 0 === skippableMagic

/**
 * The frames of a stream: each chunk ends at the end of a frame or before it.
 *
 * @throws RpcError `invalid_image` if it is cut short, or something else follows
 */
export async function* framesOf(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const cutter = createCutter()
  for await (const chunk of content)
    yield* cutter.cut(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))
  cutter.end()
}

function createCutter() {
  /** The part that is read, its bytes, and how many of them were read; the first ones are in `start`. */
  let part: Part = 'magic'
  let bytes = 4
  let have = 0
  const start = Buffer.alloc(4)
  let hasChecksum = false
  let isLastBlock = false
  let frames = 0

  /** What follows the present part, and its bytes. */
  function next(): readonly [Part, number] {
    switch (part) {
      case 'magic': {
        const magic = start.readUInt32LE()
        if (++frames > maxFrames) throw broken(`the compressed data has more than ${maxFrames} frames`)
        if (isSkippable(magic)) return ['skipped size', 4]
        if (magic === zstdMagic) return ['descriptor', 1]
        throw broken('what follows in the compressed data is not zstd')
      }
      case 'skipped size':
        return ['skipped', start.readUInt32LE()]
      case 'descriptor': {
        const descriptor = start[0]!
        const isSingleSegment = (descriptor >> 5) & 1
        hasChecksum = ((descriptor >> 2) & 1) === 1
        const size = descriptor >> 6 === 0 ? isSingleSegment : contentSizeBytes[descriptor >> 6]!
        return ['header', 1 - isSingleSegment + dictionaryBytes[descriptor & 3]! + size]
      }
      case 'block': {
        const block = start.readUIntLE(0, 3)
        const type = (block >> 1) & 3
        if (type === blockTypes.reserved) throw broken('the compressed data has a block of an unknown type')
        isLastBlock = (block & 1) === 1
        return ['body', type === blockTypes.runLength ? 1 : block >> 3]
      }
      case 'body':
        if (!isLastBlock) return ['block', 3]
        return hasChecksum ? ['checksum', 4] : ['magic', 4]
      case 'header':
        return ['block', 3]
      default:
        return ['magic', 4]
    }
  }

  return {
    *cut(chunk: Buffer): Generator<Uint8Array> {
      let at = 0
      /** Where what is passed on begins. */
      let from = 0
      while (at < chunk.length || have === bytes) {
        const taken = Math.min(bytes - have, chunk.length - at)
        if (have < start.length) chunk.copy(start, have, at, at + taken)
        have += taken
        at += taken
        if (have < bytes) break
        const wasOutside = isOutside(part)
        ;[part, bytes] = next()
        have = 0
        if (wasOutside && !isOutside(part)) {
          yield Buffer.from(start)
          from = at
        } else if (!wasOutside && isOutside(part)) {
          if (at > from) yield chunk.subarray(from, at)
        }
      }
      if (!isOutside(part) && chunk.length > from) yield chunk.subarray(from)
    },
    /** @throws RpcError `invalid_image` */
    end(): void {
      if (part !== 'magic' || have > 0) throw broken('the compressed data is cut short')
    },
  }
}
