/** Forwards requests to instances as streams, without buffering or caching. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { allowLargeBody } from '@selvedge/service-kit/http'
import { createConnections } from './connections.ts'
import { Exchange } from './exchange.ts'
import { createHttp2Sessions } from './http2-sessions.ts'
import type { Passage } from './passage.ts'
import { sendRefusal } from './refusal.ts'
import type { BodyFraming } from './send-request.ts'

export interface Proxy {
  pass(request: IncomingMessage, response: ServerResponse, passage: Passage): void
  close(): void
}

/** @param now gives monotonic milliseconds */
export function createProxy(now: () => number): Proxy {
  const parts = { connections: createConnections(), sessions: createHttp2Sessions(), now }
  return {
    pass(request, response, passage) {
      const body = bodyFraming(request)
      if (body === undefined) {
        const message = 'send the body with the Transfer-Encoding "chunked" alone'
        sendRefusal(response, { status: 501, reason: 'unsupported_transfer_encoding', message })
        return
      }
      if (body !== 'none') allowLargeBody(request)
      new Exchange(parts, { request, response, passage, body }).start()
    },
    close() {
      parts.connections.close()
      parts.sessions.close()
    },
  }
}

/** @returns undefined for a transfer coding that the gateway cannot forward (RFC 9112 § 6.1) */
function bodyFraming({ headers }: IncomingMessage): BodyFraming | undefined {
  const encoding = headers['transfer-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') return undefined
  if (headers['content-length'] !== undefined) return 'length'
  return encoding === undefined ? 'none' : 'chunked'
}
