/** Reads a body in the chunked transfer coding (RFC 9112 § 7.1). Chunk extensions are dropped, and trailers that are malformed. */
import { BrokenResponse } from './broken-response.ts'
import { findEnd } from './find-end.ts'
import { parseField } from './response-head.ts'

/** Bytes of a line with the size of a chunk. */
const maxLineBytes = 256
/** Bytes of one trailer: the message of a failure of gRPC is one. */
const maxTrailerLineBytes = 8 * 1024
/** Bytes of all trailers, line ends included. */
const maxTrailerBytes = 16 * 1024

const sizeLine = /^([0-9a-fA-F]{1,8})[ \t]*(?:;[\t\x20-\x7e]*)?$/
const crlf = Buffer.from('\r\n')

export class ChunkedBody {
  /** Whether the last chunk and the trailers were read. */
  isComplete = false
  /** Names and values in turn, once it is complete. */
  readonly trailers: string[] = []
  #next: 'size' | 'data' | 'data-end' | 'trailer' = 'size'
  /** Bytes of the current chunk that were not read yet. */
  #left = 0
  #trailerBytes = 0
  #data: Buffer[] = []

  /**
   * Reads as much as it can.
   *
   * @returns the bytes that were not read: an incomplete line, to be passed again with the bytes that follow, or what follows
   *   the body
   * @throws BrokenResponse
   */
  read(bytes: Buffer): Buffer {
    let rest = bytes
    while (!this.isComplete && rest.length > 0) {
      const used = this.#step(rest)
      if (used === 0) break
      rest = rest.subarray(used)
    }
    return rest
  }

  /** The data of all chunks since the last call, joined. */
  takeData(): Buffer {
    const data = this.#data.length === 1 ? this.#data[0]! : Buffer.concat(this.#data)
    this.#data = []
    return data
  }

  /** @returns how many bytes it read; 0 if it needs more */
  #step(bytes: Buffer): number {
    switch (this.#next) {
      case 'size':
        return this.#readSize(bytes)
      case 'data': {
        const part = bytes.length <= this.#left ? bytes : bytes.subarray(0, this.#left)
        this.#left -= part.length
        this.#data.push(part)
        if (this.#left === 0) this.#next = 'data-end'
        return part.length
      }
      case 'data-end':
        if (bytes.length < 2) return 0
        if (bytes[0] !== 13 || bytes[1] !== 10) throw new BrokenResponse('a chunk is longer than its size')
        this.#next = 'size'
        return 2
      case 'trailer':
        return this.#readTrailer(bytes)
    }
  }

  #readSize(bytes: Buffer): number {
    const line = readLine(bytes, maxLineBytes)
    if (line === undefined) return 0
    const size = sizeLine.exec(line)?.[1]
    if (size === undefined) throw new BrokenResponse('the size of a chunk is malformed')
    this.#left = Number.parseInt(size, 16)
    this.#next = this.#left === 0 ? 'trailer' : 'data'
    return line.length + 2
  }

  #readTrailer(bytes: Buffer): number {
    const line = readLine(bytes, maxTrailerLineBytes)
    if (line === undefined) return 0
    this.#trailerBytes += line.length + 2
    if (line === '') this.isComplete = true
    else if (this.#trailerBytes > maxTrailerBytes)
      throw new BrokenResponse(`its trailers are larger than ${maxTrailerBytes} bytes`)
    else this.trailers.push(...(parseField(line) ?? []))
    return line.length + 2
  }
}

/** @returns undefined if the line is not complete. @throws BrokenResponse if it is too long */
function readLine(bytes: Buffer, maxBytes: number): string | undefined {
  const end = findEnd(bytes, crlf, maxBytes, 'a line of its chunks is too long')
  return end < 0 ? undefined : bytes.toString('latin1', 0, end)
}
