/**
 * Where metrics are read: a Unix socket, or a port of the loopback interface that serves nothing else. Web pages are refused like
 * at the API. Many readers cost as much as one, and a reader that does not read is disconnected.
 */
import type { RequestListener, ServerResponse } from 'node:http'
import { createGuard, readGuardedHeaders } from '../http/guard.ts'
import type { Limits, Listener } from '../http/server.ts'
import { safely } from '../safely/safely.ts'
import { expositionType } from './exposition.ts'

const metricsPath = '/metrics'

/** Group members may read: a Prometheus server that runs as another user needs the group of the daemon. */
export const metricsSocketMode = 0o660

/** For the connections of readers: as many as may be open at the same time. They send no body. */
export const metricsLimits: Limits = { connections: 16, bodySeconds: 5, drainBytes: 64 * 1024 }

export interface MetricsListenerSettings {
  /** Milliseconds for which a text is served again. */
  readonly cachedMs: number
  /** Milliseconds for a reader to take the text. */
  readonly sendMs: number
}

const defaults: MetricsListenerSettings = { cachedMs: 1000, sendMs: 10_000 }

/**
 * @param read the present text
 * @param port that the listener answers on; undefined on a Unix socket
 */
export function createMetricsListener(
  read: () => string,
  port: number | undefined,
  settings: Partial<MetricsListenerSettings> = {},
): Listener {
  const { cachedMs, sendMs } = { ...defaults, ...settings }
  return { request: serve(port, cached(read, cachedMs), sendMs) }
}

function cached(read: () => string, forMs: number): () => Buffer {
  let last: Buffer | undefined
  let readAt = 0
  return () => {
    const now = performance.now()
    if (!last || now - readAt >= forMs) {
      readAt = now
      last = Buffer.from(read())
    }
    return last
  }
}

/** All answers share one buffer, so that what waits for slow readers needs no memory of its own. */
function serve(port: number | undefined, text: () => Buffer, sendMs: number): RequestListener {
  const check = createGuard({ port, allowedOrigins: [] })
  return (request, response) => {
    const refused = check(readGuardedHeaders(request))
    endLate(response, sendMs)
    if (refused) return refuse(response, refused.status, refused.message)
    if (request.url !== metricsPath) return refuse(response, 404, `there is only GET ${metricsPath}`)
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET')
      return refuse(response, 405, 'send GET')
    }
    const body = text()
    response.writeHead(200, {
      'Content-Type': expositionType,
      'Content-Length': body.length,
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    })
    // For HEAD, Node leaves it out.
    response.end(body)
  }
}

function endLate(response: ServerResponse, afterMs: number): void {
  const timer = setTimeout(
    safely('metrics.late', () => response.destroy()),
    afterMs,
  )
  timer.unref()
  response.once(
    'close',
    safely('metrics.close', () => clearTimeout(timer)),
  )
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const text = `${message}\n`
  response.writeHead(status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  })
  response.end(text)
}
