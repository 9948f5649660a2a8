/**
 * Reads HTTP/1.1 answers of services (RFC 9112). Strict: a service is as little trusted as its callers, and whatever two readers
 * might understand differently is refused. Our own, since the client of Node costs more than all the rest of the gateway
 * (measured in bench/).
 */

/** Most bytes of a status line with its headers, and of a line that tells the size of a chunk. */
const limits = { head: 64 * 1024, chunkLine: 256 }

interface ResponseHead {
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
  onBroken(why: string): void
}

export interface ResponseReader {
  read(chunk: Buffer): void
  /** The connection has ended: the end of a body that has no length, else an answer cut short. */
  end(): void
}

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/
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

  function broken(why: string): void {
    state = 'over'
    events.onBroken(why)
  }

  function end(remaining: number): void {
    state = 'over'
    // Bytes that nobody asked for would be taken for the next answer.
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
    if (code === undefined) {
      broken('its status line is not one of HTTP/1.1')
      return -1
    }
    const headers: string[] = []
    let length: string | undefined
    let encoding: string | undefined
    let isKept = minor === '1'
    for (let line = 1; line < lines.length; line++) {
      const match = headerLine.exec(lines[line]!)
      if (!match) {
        broken('one of its headers is malformed')
        return -1
      }
      const name = match[1]!
      const value = match[2]!
      headers.push(name, value)
      if (name.length === 14 && name.toLowerCase() === 'content-length') {
        if (!/^\d{1,15}$/.test(value) || (length !== undefined && length !== value)) {
          broken('its Content-Length is malformed')
          return -1
        }
        length = value
      } else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') {
        encoding = encoding === undefined ? value.toLowerCase() : `${encoding},${value}`
      } else if (name.length === 10 && name.toLowerCase() === 'connection') {
        if (/\bclose\b/i.test(value)) isKept = false
      }
    }
    const status = Number(code)
    if (status < 200) {
      // 100 and 103 announce an answer; 101 would be one to a question that was not asked.
      if (status === 101) broken('it switches protocols unasked')
      return status === 101 ? -1 : at + 4
    }
    if (encoding !== undefined && (encoding !== 'chunked' || length !== undefined)) {
      broken('it has a Transfer-Encoding that is not "chunked" alone')
      return -1
    }
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
      case 'length':
      case 'chunk': {
        const part = bytes.length <= left ? bytes : bytes.subarray(0, left)
        left -= part.length
        const isLast = state === 'length' && left === 0
        events.onBody(part, isLast)
        if (left === 0 && state === 'chunk') state = 'chunk-end'
        else if (isLast) end(bytes.length - part.length)
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
        if (line === '') {
          events.onBody(empty, true)
          end(bytes.length - 2)
        }
        return line.length + 2
      }
      case 'close':
        events.onBody(bytes, false)
        return bytes.length
      case 'over':
        return 0
    }
  }

  return {
    read(chunk) {
      let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      while (state !== 'over' && (bytes.length > 0 || (state === 'length' && left === 0))) {
        const used = step(bytes)
        if (used === 0 && (state as string) !== 'over') break
        bytes = used === bytes.length ? empty : bytes.subarray(used)
      }
      rest = bytes
    },
    end() {
      if (state === 'close') {
        events.onBody(empty, true)
        end(0)
      } else if (state !== 'over')
        broken(state === 'head' ? 'it ended the connection before it answered' : 'its answer was cut short')
    },
  }
}
