import type { ServerResponse } from 'node:http'
import { requestIdOf } from './request-id.ts'

/** Ends an answer with JSON text that no cache stores and that no browser interprets as another type, with the ID of the request. */
export function sendJson(
  response: ServerResponse,
  status: number,
  text: string,
  headers?: Readonly<Record<string, string>>,
): void {
  const length = Buffer.byteLength(text)
  response
    .writeHead(status, {
      'Content-Type': 'application/json',
      'Content-Length': length,
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Request-Id': requestIdOf(response.req),
      ...headers,
    })
    // As many bytes as characters: it is ASCII, and need not be transcoded.
    .end(text, length === text.length ? 'latin1' : 'utf8')
}
