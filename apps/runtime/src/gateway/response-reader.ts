/**
 * Reads HTTP/1.1 answers of services (RFC 9112). Strict: a service is as little trusted as its callers, and whatever two readers
 * might understand differently is refused. Our own, since the client of Node costs more than all the rest of the gateway
 * (measured in bench/).
 */

/**
 * Bytes of a status line with its headers, of a line with the size of a chunk, and of all trailers; answers that only announce
 * another one (1xx).
 */
const limits = { head: 64 * 1024, chunkLine: 256, trailers: 16 * 1024, interim: 16 }

export interface ResponseHead {
  readonly status: number
  readonly message: string
  /** Names and values in turn, as they came. */
  readonly headers: readonly string[]
}

export interface ResponseEvents {
  onHead(head: ResponseHead): void
  /** A part of the body. `isLast`: nothing follows it. */
  onBody(part: Buffer, isLast: boolean): void
  /** The answer is complete. @param reusable whether the connection may carry another one */
  onEnd(reusable: boolean): void
  /** The connection ended before the head of the answer was complete. */
  onUnanswered(): void
  onBroken(why: string): void
}

export interface ResponseReader {
  read(chunk: Buffer): void
  /** The connection has ended: the end of a body that has no length, else an answer cut short. */
  end(): void
}

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/
// White space around the value is cut off by hand: a pattern for it would be quadratic in the white space.
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/
const chunkLine = /^([0-9a-fA-F]{1,8})[ \t]*(?:;[\t\x20-\x7e]*)?$/
const empty = Buffer.alloc(0)
const crlf = Buffer.from('\r\n')
const headEnd = Buffer.from('\r\n\r\n')

type Framing = 'none' | 'length' | 'chunked' | 'close'

/** @param hasNoBody whether the request was HEAD, whose answer has none */
export function createResponseReader(hasNoBody: boolean, events: ResponseEvents): ResponseReader {
  let state: 'head' | 'length' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer' | 'close' | 'over' = 'head'
  let rest: Buffer = empty
  let left = 0
  let isReusable = false
  let interim = 0
  let trailers = 0
  /** Parts of a chunked body that came in one piece of the connection: they go on in one piece, too. */
  let parts: Buffer[] = []

  /** @returns -1, for readers of a part */
  function broken(why: string): -1 {
    state = 'over'
    events.onBroken(why)
    return -1
  }

  function flush(isLast: boolean): void {
    if (parts.length === 0 && !isLast) return
    const body = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    parts = []
    events.onBody(body, isLast)
  }

  function end(remaining: number): void {
    state = 'over'
    // Bytes that answer no request would be read as the next answer.
    events.onEnd(isReusable && remaining === 0)
  }

  /** @returns how many bytes were the head, 0 where it is not complete, -1 where it is broken */
  function readHead(bytes: Buffer): number {
    const at = bytes.indexOf(headEnd)
    if (at < 0) {
      if (bytes.length > limits.head) broken(`its headers are larger than ${limits.head} bytes`)
      return state === 'over' ? -1 : 0
    }
    const lines = bytes.toString('latin1', 0, at).split('\r\n')
    const [, minor, code, message = ''] = statusLine.exec(lines[0]!) ?? []
    if (code === undefined) return broken('its status line is not one of HTTP/1.1')
    const headers: string[] = []
    let length: string | undefined
    let encoding: string | undefined
    let isKept = minor === '1'
    for (let line = 1; line < lines.length; line++) {
      const match = headerLine.exec(lines[line]!)
      if (!match) return broken('one of its headers is malformed')
      const name = match[1]!
      const value = trimmed(match[2]!)
      if (name.length === 14 && name.toLowerCase() === 'content-length') {
        if (!/^\d{1,15}$/.test(value) || (length !== undefined && length !== value))
          return broken('its Content-Length is malformed')
        if (length !== undefined) continue
        length = value
      }
      headers.push(name, value)
      if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') {
        encoding = encoding === undefined ? value.toLowerCase() : `${encoding},${value}`
      } else if (name.length === 10 && name.toLowerCase() === 'connection') {
        if (/\bclose\b/i.test(value)) isKept = false
      }
    }
    const status = Number(code)
    if (status < 200) {
      // 100 and 103 announce an answer; 101 would be the answer to a request that was not sent.
      if (status === 101) broken('it switches protocols unasked')
      else if (++interim > limits.interim) broken(`it announced its answer more than ${limits.interim} times`)
      return (state as string) === 'over' ? -1 : at + 4
    }
    if (encoding !== undefined && (encoding !== 'chunked' || length !== undefined))
      return broken('it has a Transfer-Encoding that is not "chunked" alone')
    const isBodiless = hasNoBody || status === 204 || status === 304
    const framing: Framing = isBodiless
      ? 'none'
      : encoding
        ? 'chunked'
        : length !== undefined
          ? 'length'
          : 'close'
    isReusable = isKept && framing !== 'close'
    left = framing === 'length' ? Number(length) : 0
    state = framing === 'chunked' ? 'chunk-size' : framing === 'close' ? 'close' : 'length'
    events.onHead({ status, message, headers })
    return at + 4
  }

  /** A line of the chunked framing; undefined where it is not complete, or broken. */
  function readLine(bytes: Buffer): string | undefined {
    const at = bytes.indexOf(crlf)
    if (at >= 0 && at <= limits.chunkLine) return bytes.toString('latin1', 0, at)
    if (at > limits.chunkLine || bytes.length > limits.chunkLine) broken('a line of its chunks is too long')
    return undefined
  }

  /** Reads on from the start of the bytes. @returns how many were understood; 0 where more must come */
  function step(bytes: Buffer): number {
    switch (state) {
      case 'head':
        return Math.max(readHead(bytes), 0)
      case 'length': {
        const part = bytes.length <= left ? bytes : bytes.subarray(0, left)
        left -= part.length
        events.onBody(part, left === 0)
        if (left === 0) end(bytes.length - part.length)
        return part.length
      }
      case 'chunk': {
        const part = bytes.length <= left ? bytes : bytes.subarray(0, left)
        left -= part.length
        parts.push(part)
        if (left === 0) state = 'chunk-end'
        return part.length
      }
      case 'chunk-size': {
        const line = readLine(bytes)
        if (line === undefined) return 0
        const size = chunkLine.exec(line)?.[1]
        if (size === undefined) {
          broken('the size of a chunk is malformed')
          return 0
        }
        left = Number.parseInt(size, 16)
        state = left === 0 ? 'trailer' : 'chunk'
        return line.length + 2
      }
      case 'chunk-end':
        if (bytes.length < 2) return 0
        if (bytes[0] !== 13 || bytes[1] !== 10) {
          broken('a chunk is longer than its size')
          return 0
        }
        state = 'chunk-size'
        return 2
      case 'trailer': {
        const line = readLine(bytes)
        if (line === undefined) return 0
        trailers += line.length + 2
        if (line === '') {
          flush(true)
          end(bytes.length - 2)
        } else if (trailers > limits.trailers) broken(`its trailers are larger than ${limits.trailers} bytes`)
        return line.length + 2
      }
      case 'close':
        events.onBody(bytes, false)
        return bytes.length
      case 'over':
        return 0
    }
  }

  /** Pieces of a head that is not complete, and their last bytes: it may end in the middle of a piece. */
  let pieces: Buffer[] = []
  let gathered = 0
  let tail: Buffer = empty

  /** Puts a head in many pieces together once, when it is complete: not again with each piece. */
  function gather(piece: Buffer): Buffer | undefined {
    const seam = tail.length === 0 ? piece : Buffer.concat([tail, piece])
    const isComplete = seam.includes(headEnd) || gathered + piece.length > limits.head
    if (pieces.length === 0 && isComplete) return piece
    pieces.push(piece)
    gathered += piece.length
    tail = seam.subarray(-3)
    if (!isComplete) return undefined
    const whole = Buffer.concat(pieces)
    pieces = []
    gathered = 0
    tail = empty
    return whole
  }

  return {
    read(chunk) {
      let bytes: Buffer | undefined = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      if (state === 'head') bytes = gather(bytes)
      rest = empty
      if (!bytes) return
      while (state !== 'over' && (bytes.length > 0 || (state === 'length' && left === 0))) {
        const used = step(bytes)
        if (used === 0 && (state as string) !== 'over') break
        bytes = used === bytes.length ? empty : bytes.subarray(used)
      }
      // What came before a broken part is dropped with it: nothing follows the end.
      if ((state as string) === 'over') return
      flush(false)
      // What is left of a head after an announcement is gathered like its beginning.
      if (state === 'head' && bytes.length > 0) gather(bytes)
      else rest = bytes
    },
    end() {
      if (state === 'close') {
        events.onBody(empty, true)
        end(0)
      } else if (state === 'head') {
        state = 'over'
        events.onUnanswered()
      } else if (state !== 'over') broken('its answer was cut short')
    },
  }
}

/** Without the spaces and tabs around it (RFC 9110 § 5.5). */
function trimmed(value: string): string {
  let start = 0
  let end = value.length
  while (start < end && isBlank(value.charCodeAt(start))) start++
  while (end > start && isBlank(value.charCodeAt(end - 1))) end--
  return start === 0 && end === value.length ? value : value.slice(start, end)
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09
