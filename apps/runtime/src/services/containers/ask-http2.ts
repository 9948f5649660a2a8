/** One request over HTTP/2 to an instance, for its health: on a connection of its own, with all limits. */
import type { ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2'
import { safely } from '@selvedge/service-kit/safely'
import type { Upstream } from '../engines/engine.ts'
import { clientOptions, connectTo } from '../engines/http2-client.ts'
import { outliveStream } from '../engines/http2-lifetime.ts'

/** Bytes of a body that are read; the rest is dropped. */
const maxBody = 4096

export interface Http2Answer {
  readonly status: number
  /** Headers and trailers. */
  readonly fields: IncomingHttpHeaders
  readonly body: Buffer
}

/**
 * @param body undefined: a GET without one; the answer is then complete with its head
 * @returns the answer, or what went wrong, which completes a sentence about the path. Never rejects
 */
export function askHttp2(
  upstream: Upstream,
  fields: OutgoingHttpHeaders,
  body: Buffer | undefined,
  timeoutMs: number,
): Promise<Http2Answer | string> {
  return new Promise((resolve) => {
    const socket = connectTo(upstream)
    const http2 = process.getBuiltinModule('node:http2')
    const session = http2.connect('http://localhost', { ...clientOptions, createConnection: () => socket })
    const end = (answer: Http2Answer | string) => {
      clearTimeout(limit)
      session.destroy()
      socket.destroy()
      resolve(answer)
    }
    const late = safely('containers.probe-late', () => end(`did not answer within ${timeoutMs} ms`))
    const limit = setTimeout(late, timeoutMs)
    const fail = safely('containers.probe-failed', (cause: Error) => end(`did not answer: ${cause.message}`))
    session.on('error', fail)
    socket.on('error', fail)
    // Nothing else reports that the other side is gone.
    socket.on(
      'close',
      safely('containers.probe-closed', () => end('did not answer in HTTP/2')),
    )
    const method = body ? 'POST' : 'GET'
    const own = { ':method': method, ':authority': 'localhost', 'user-agent': 'selvedge-health' }
    const stream = session.request({ ...own, ...fields })
    outliveStream(session, stream)
    stream.on('error', fail)
    stream.on(
      'close',
      safely('containers.probe-reset', () => end('was reset')),
    )
    collect(stream, body === undefined, end)
    stream.end(body)
  })
}

function collect(stream: ClientHttp2Stream, isHeadEnough: boolean, end: (answer: Http2Answer) => void): void {
  let fields: IncomingHttpHeaders = {}
  let bytes = 0
  const parts: Buffer[] = []
  const finish = () =>
    end({ status: Number(fields[':status'] ?? 0), fields, body: Buffer.concat(parts).subarray(0, maxBody) })
  const add = (more: IncomingHttpHeaders) => {
    fields = { ...fields, ...more }
  }
  const onHead = (head: IncomingHttpHeaders) => {
    add(head)
    if (isHeadEnough) finish()
  }
  const onData = (chunk: Buffer) => {
    if (bytes < maxBody) parts.push(chunk)
    bytes += chunk.length
  }
  stream.on('response', safely('containers.probe', onHead))
  stream.on('trailers', safely('containers.probe-trailers', add))
  stream.on('data', safely('containers.probe-data', onData))
  stream.on('end', safely('containers.probe-end', finish))
}
