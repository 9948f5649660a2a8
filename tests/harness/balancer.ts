/** A load balancer that follows `/readyz`, with persistent connections to its backends. It repeats no request. */
import { once } from 'node:events'
import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Balancer {
  readonly url: string
  /** Backends that it sends requests to at present. */
  ready(): readonly number[]
  /** Requests that a backend did not answer. */
  failures(): readonly string[]
  stop(): Promise<void>
}

interface Backend {
  readonly port: number
  agent: Agent
  isReady: boolean
}

/** Milliseconds between two checks of a backend. */
const checkMs = 100

/** @param ports of the backends, as they are at present */
export async function startBalancer(ports: () => readonly number[]): Promise<Balancer> {
  const backends = new Map<number, Backend>()
  const failures: string[] = []
  let turn = 0

  const server = createServer((incoming, outgoing) => {
    const ready = [...backends.values()].filter(({ isReady }) => isReady)
    const backend = ready[turn++ % ready.length]
    if (backend) return pass(backend, incoming, outgoing)
    failures.push('no backend is ready')
    outgoing.writeHead(502).end()
  })

  function pass({ port, agent }: Backend, incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { url: path, method, headers } = incoming
    const upstream = httpRequest({ host: '127.0.0.1', port, path, method, headers, agent }, (response) => {
      const { connection: _, 'keep-alive': __, ...passed } = response.headers
      outgoing.writeHead(response.statusCode!, passed)
      response.pipe(outgoing)
    })
    upstream.on('error', (cause) => {
      failures.push(`${method} ${path}: ${cause.message}`)
      outgoing.destroy()
    })
    incoming.pipe(upstream)
  }

  async function check(): Promise<void> {
    for (const port of ports())
      if (!backends.has(port))
        backends.set(port, { port, agent: new Agent({ keepAlive: true }), isReady: false })
    await Promise.all(
      [...backends.values()].map(async (backend) => {
        const url = `http://127.0.0.1:${backend.port}/readyz`
        const isReady = await fetch(url, { signal: AbortSignal.timeout(2000) }).then(
          async (response) => {
            await response.text()
            return response.status === 200
          },
          () => false,
        )
        // A process that was started again does not have the connections of the former one.
        if (isReady && !backend.isReady) backend.agent = new Agent({ keepAlive: true })
        backend.isReady = isReady
      }),
    )
  }

  let isStopped = false
  const checking = (async () => {
    while (!isStopped) {
      await check()
      await new Promise((resolve) => setTimeout(resolve, checkMs))
    }
  })()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ready: () => [...backends.values()].filter(({ isReady }) => isReady).map(({ port }) => port),
    failures: () => failures,
    async stop() {
      isStopped = true
      await checking
      for (const { agent } of backends.values()) agent.destroy()
      server.close()
      server.closeAllConnections()
    },
  }
}
