/**
 * Answers to requests with an incomplete body: a refusal is sent at once, then a bounded part of the body is read for a
 * bounded time, then the connection closes. A server that closes at once may destroy its own answer on the way (RFC 9112
 * § 9.6); one that reads everything lets a refused caller hold it.
 */
import { type IncomingMessage, ServerResponse } from 'node:http'
import { safely } from '../safely/safely.ts'
import { isHttp2Stream } from './protocols.ts'

export interface DrainLimits {
  /** Seconds for which the rest of a body is read after the answer. */
  readonly drainSeconds: number
  /** Bytes of the rest of a body that are read after the answer. */
  readonly drainBytes: number
}

export const drainDefaults: DrainLimits = { drainSeconds: 5, drainBytes: 16 * 1024 * 1024 }

/** Whether a part of the body has not arrived yet. */
function isBodyComing({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) > 0)
}

const endAtOnce = ServerResponse.prototype.end as (
  this: ServerResponse,
  ...given: unknown[]
) => ServerResponse

/**
 * Lets the answers of a server end early. A function for each answer: a separate class in place of Node's (the option
 * `ServerResponse`) cost 5 to 10 µs for each request.
 */
export function createEarlyEnd(limits: DrainLimits): (response: ServerResponse) => void {
  const ending = new WeakSet<ServerResponse>()

  function end(
    this: ServerResponse,
    content?: unknown,
    encoding?: unknown,
    callback?: unknown,
  ): ServerResponse {
    if (this.req.complete) return endAtOnce.call(this, content, encoding, callback)
    if (ending.has(this)) return this
    // A stream of HTTP/2 ends alone, and the rest of its body is not sent (RFC 9113 § 8.1).
    if (!isBodyComing(this.req) || isHttp2Stream(this.req.socket))
      return endAtOnce.call(this, content, encoding, callback)
    ending.add(this)
    endEarly(this, limits, [content, encoding, callback])
    return this
  }

  return (response) => {
    response.end = end as ServerResponse['end']
  }
}

/** Sends the answer, and ends it when the rest of the body was read or is given up. */
function endEarly(response: ServerResponse, limits: DrainLimits, given: readonly unknown[]): void {
  const { req: request } = response
  const callback = given.find((each) => typeof each === 'function')
  const [content, encoding] = given.filter((each) => typeof each !== 'function') as [
    (string | Uint8Array)?,
    BufferEncoding?,
  ]
  if (!response.headersSent) {
    response.setHeader('Connection', 'close')
    if (!response.hasHeader('Content-Length') && !response.hasHeader('Transfer-Encoding'))
      response.setHeader('Content-Length', content === undefined ? 0 : Buffer.byteLength(content, encoding))
  }
  if (content !== undefined && content !== null && content.length > 0)
    response.write(content, encoding ?? 'utf8')
  else response.flushHeaders()
  drain(request, limits, () => {
    if (!request.complete) response.once('finish', () => request.destroy())
    endAtOnce.call(response, callback)
  })
}

/** Reads on within the limits, and drops what comes. @param done called once: the body is complete, too large or too slow */
function drain(request: IncomingMessage, { drainSeconds, drainBytes }: DrainLimits, done: () => void): void {
  let left = drainBytes
  const count = (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) stop()
  }
  const stop = safely('http.early-response', () => {
    clearTimeout(limit)
    request.off('data', count)
    request.off('end', stop)
    request.off('close', stop)
    done()
  })
  const limit = setTimeout(stop, drainSeconds * 1000)
  request.unpipe()
  request.on('data', count)
  request.on('end', stop)
  request.on('close', stop)
  request.resume()
}
