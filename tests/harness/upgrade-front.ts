/** A gateway for WebSockets, with a client and a service that speak raw. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer as createSocketServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { attach, createHttpServer } from '@selvedge/service-kit/http'
import { createLimitedWork, createWorkCount } from '@selvedge/service-kit/work'
import type { Running } from '../../apps/runtime/src/services/containers/instances.ts'
import type { Passage } from '../../apps/runtime/src/services/gateway/passage.ts'
import { passUpgrade } from '../../apps/runtime/src/services/gateway/upgrade.ts'

/** A passage through the gateway without anything special. */
export const usualPassage: Omit<Passage, 'running' | 'path'> = {
  headers: ['Host', 'x'],
  sandboxed: false,
  speaksHttp2: false,
  wantsTrailers: false,
  isOfEvents: false,
  requestId: 'id-1',
  limitMs: 5000,
  onOverrun: () => undefined,
  endWithCaller: () => () => undefined,
}

const ending: (() => unknown)[] = []

/** Ends all that {@link front} has opened. */
export function endFronts(): void {
  for (const end of ending.splice(0)) end()
}

/** A gateway in front of a service that gets its connections raw, once it was asked for an upgrade. */
export async function front(
  onRequest: (socket: Socket, request: string) => void,
  {
    started = () => undefined,
    kind = 'oci',
    early = '',
    seen = (client) => client,
    ...more
  }: Partial<Passage> & {
    started?: () => Promise<unknown> | undefined
    kind?: string
    /** What the client sends behind its request. */
    early?: string | Buffer
    /** What the gateway has in the place of the connection of the client. */
    seen?: (client: Duplex) => Duplex
  } = {},
) {
  const sockets = new Set<Socket>()
  const upstream = createSocketServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    // The gateway has to close it; this side may stay half open.
    for (const event of ['end', 'close']) socket.on(event, () => sockets.delete(socket))
    socket.on('error', () => undefined)
    socket.once('data', (request) => onRequest(socket, String(request)))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => upstream.once('listening', resolve))
  const running = {
    instance: { upstream: { host: '127.0.0.1', port: (upstream.address() as AddressInfo).port } },
    plan: { log: () => undefined, content: { kind } },
    requests: createWorkCount(),
    unanswered: createLimitedWork(),
    lastUsed: 0,
  } as unknown as Running
  const server = createHttpServer({})
  const callerGone = Promise.withResolvers<void>()
  attach(server, {
    request: (_request, response) => response.end('not upgraded'),
    upgrade: async (request, socket, head) => {
      socket.on('error', () => socket.destroy())
      socket.once('close', () => callerGone.resolve())
      await started()
      passUpgrade(seen(socket), head, { ...usualPassage, running, path: request.url!, ...more }, () => 0)
    },
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => undefined)
  const request = 'GET /s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
  client.write(Buffer.concat([Buffer.from(request), Buffer.from(early)]))
  ending.push(() => {
    client.destroy()
    for (const socket of sockets) socket.destroy()
    server.close()
    upstream.close()
  })
  const counts = () => [running.requests.underWay, running.unanswered.underWay]
  return { client, running, counts, sockets, callerGone: callerGone.promise }
}

/** All that a connection brings until it closes. */
export async function wholeOf(client: Socket): Promise<Buffer> {
  const parts: Buffer[] = []
  client.on('data', (part: Buffer) => parts.push(part))
  await once(client, 'close')
  return Buffer.concat(parts)
}

export const switching =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
