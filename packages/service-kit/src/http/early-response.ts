/**
 * Answers to requests whose body is still coming: a refusal goes out at once, then a bounded part of the body is read for a
 * bounded time, then the connection closes. A server that closes at once may destroy its own answer on the way (RFC 9112
 * § 9.6); one that reads everything lets a refused caller hold it.
 */
import { type IncomingMessage, ServerResponse } from 'node:http'
import { safely } from '../safely/safely.ts'

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

/** The class of a server's answers; every path of the server answers through it. */
export const createEarlyResponse = (limits: DrainLimits): typeof ServerResponse =>
  class EarlyResponse<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {
    #isEnding = false

    override end(...given: readonly unknown[]): this {
      if (this.#isEnding) return this
      if (!isBodyComing(this.req)) return super.end(...(given as []))
      this.#isEnding = true
      const callback = given.find((each) => typeof each === 'function') as (() => void) | undefined
      const [content, encoding] = given.filter((each) => typeof each !== 'function') as [
        (string | Uint8Array)?,
        BufferEncoding?,
      ]
      if (!this.headersSent) {
        this.setHeader('Connection', 'close')
        if (!this.hasHeader('Content-Length') && !this.hasHeader('Transfer-Encoding'))
          this.setHeader('Content-Length', content === undefined ? 0 : Buffer.byteLength(content, encoding))
      }
      if (content !== undefined && content.length > 0) this.write(content, encoding ?? 'utf8')
      else this.flushHeaders()
      drain(this.req, limits, () => {
        if (!this.req.complete) this.once('finish', () => this.req.destroy())
        super.end(callback)
      })
      return this
    }
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
