/** Sends JSON to a collector, which may be slow, broken or hostile: it gets a bounded time, and its answers are not read. */
import type { IncomingMessage } from 'node:http'
import type { Outbound } from '../network/network.ts'
import { startRequest } from '../network/start-request.ts'
import { safely } from '../safely/safely.ts'

/** `refused`: the same again would be refused again. `failed`: it may be accepted later. */
type SendResult = 'sent' | 'refused' | 'failed'

export interface Collector {
  /** Never rejects. */
  send(path: string, body: string): Promise<SendResult>
}

/** Statuses after which the same request may be sent again (OTLP 1.x, "OTLP/HTTP Response"). */
const retryable = new Set([429, 502, 503, 504])

/** Interim responses (1xx) before the answer. */
const maxInterim = 16

/**
 * @param endpoint URL without a path; redirects are not followed
 * @param timeoutMs for a request with its answer
 * @param outbound proxy and authorities
 */
export function createCollector(endpoint: string, timeoutMs: number, outbound: Outbound): Collector {
  return {
    send: (path, body) =>
      new Promise((resolve) => {
        const onResponse = (response: IncomingMessage) => {
          const { statusCode = 0 } = response
          const isSent = statusCode >= 200 && statusCode < 300
          resolve(isSent ? 'sent' : retryable.has(statusCode) ? 'failed' : 'refused')
          // An empty answer leaves the connection open; any other is not worth reading.
          const isEmpty = response.headers['content-length'] === '0'
          if (isEmpty) response.resume()
          else response.destroy()
        }
        const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
        const sent = startRequest(endpoint + path, {
          method: 'POST',
          headers,
          agent: outbound.agentFor(endpoint, 'service'),
        })
        const late = setTimeout(
          safely('otel.late', () => sent.destroy(new Error('it did not answer in time'))),
          timeoutMs,
        )
        late.unref()
        sent.on(
          'response',
          safely('otel.response', onResponse, () => resolve('failed')),
        )
        let announced = 0
        sent.on(
          'information',
          safely('otel.information', () => {
            if (++announced > maxInterim) sent.destroy(new Error('it announces its answer without end'))
          }),
        )
        sent.on(
          'upgrade',
          safely('otel.upgrade', (_response, socket) => socket.destroy()),
        )
        sent.on('error', () => resolve('failed'))
        sent.on(
          'close',
          safely('otel.close', () => {
            clearTimeout(late)
            resolve('failed')
          }),
        )
        sent.end(body)
      }),
  }
}
