/** A collector of telemetry that records what it gets. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly status: { readonly code?: number }
}

export interface RecordingCollector {
  readonly url: string
  /** What was sent, as text. */
  text(): string
  spans(): readonly Span[]
  stop(): void
}

export async function startCollector(): Promise<RecordingCollector> {
  const bodies: { path: string; text: string }[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    bodies.push({ path: request.url!, text })
    response.writeHead(200, { 'Content-Length': 0 }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    text: () => bodies.map(({ text }) => text).join('\n'),
    spans: () =>
      bodies
        .filter(({ path }) => path === '/v1/traces')
        .flatMap(({ text }) => JSON.parse(text).resourceSpans[0].scopeSpans[0].spans),
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}
