import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { OAuthError } from '@selvedge/protocol'
import fastify, { type FastifyError, type FastifyInstance } from 'fastify'
import { endConnections } from '../http/close-server.ts'
import { isMissing, ListenError, open, portInUse } from '../http/listen.ts'
import { busyMessage, createLoadShedder, type LoadShedder } from '../http/load-shedder.ts'
import { createRefuseBusy } from '../http/refuse-busy.ts'
import { requestIdOf } from '../http/request-id.ts'
import { sendJson } from '../http/send-json.ts'
import { attach, createHttpServer, type Limits, type Listener } from '../http/server.ts'
import { pathOf } from '../http/target.ts'
import { alwaysReady, type Readiness } from '../lifecycle/readiness.ts'
import type { Log } from '../log/index.ts'
import { safely } from '../safely/safely.ts'
import { inRequest } from '../trace/trace.ts'
import type { EventStream } from './event-stream.ts'
import { type HotPath, jsonType, withHotPath } from './hot-path.ts'
import { describeError } from './oauth-answer.ts'
import { limitRoutes } from './route-limits.ts'

export interface HttpAppOptions {
  /** An endpoint that is served below the router. */
  readonly hotPath?: HotPath | undefined
  /** Paths that are served in an overload, too; all others are ordinary. */
  readonly vital: readonly string[]
  /** Whether a request with this `Host` header is for this service; absent: any is. */
  readonly acceptsHost?: (host: string | undefined) => boolean
  readonly readiness?: Readiness
  /** Time for bodies, and what refuses requests in an overload; for tests. */
  readonly limits?: Limits
  readonly shedder?: LoadShedder
}

/** Milliseconds for the requests under way when the app closes. */
const graceMs = 5000

/**
 * The HTTP shell: JSON bodies as text, since endpoints parse strictly for themselves; every refusal in OAuth's words. What is
 * not JSON in UTF-8 is 415.
 *
 * @param maxBody largest body in bytes
 */
export function createHttpApp(
  log: Log,
  maxBody: number,
  {
    hotPath,
    vital,
    acceptsHost = () => true,
    readiness = alwaysReady,
    limits = {},
    shedder = createLoadShedder(),
  }: HttpAppOptions,
): FastifyInstance {
  const vitalPaths = new Set(vital)
  const refuseBusy = createRefuseBusy(shedder, {
    error: 'temporarily_unavailable',
    error_description: busyMessage,
  })
  const servers = createServers({ isDraining: readiness.isDraining, ...limits })
  const app = fastify({
    bodyLimit: maxBody,
    // Requests that are under way when it closes are answered.
    return503OnClosing: false,
    serverFactory: (router) => {
      const listener = hotPath ? withHotPath(hotPath, { maxBody, log, refuseBusy }, router) : router
      servers.serve({
        request: (request, response) => {
          if (!acceptsHost(request.headers.host)) refuseHost(response)
          else if (!vitalPaths.has(pathOf(request)) && shedder.isBusy(request.socket)) refuseBusy(response)
          else listener(request, response)
        },
      })
      return servers.make()
    },
  })
  serversOf.set(app, servers)
  limitRoutes(app, vitalPaths, refuseBusy)
  app.decorate('eventStreams', new Set<EventStream>())
  app.addHook('preClose', (done) => {
    for (const each of app.eventStreams) each.end()
    servers.end(app.server)
    done()
  })
  app.addHook('onClose', async () => void (await servers.closed()))
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(jsonType, { parseAs: 'string' }, (_request, body, done) => done(null, body))
  // The body has been read since the request began, in callbacks that belong to no request.
  app.addHook('preValidation', (_request, reply, done) => inRequest(reply.raw, done))
  app.addHook('onSend', (request, reply, payload, done) => {
    if (!reply.hasHeader('Cache-Control')) reply.header('Cache-Control', 'no-store')
    reply.header('X-Content-Type-Options', 'nosniff')
    reply.header('X-Request-Id', requestIdOf(request.raw))
    done(null, payload)
  })
  app.setErrorHandler((cause: FastifyError | OAuthError, request, reply) => {
    const { status, body, headers = {} } = describeError(cause, pathOf(request), log, request.raw)
    return reply.code(status).headers(headers).send(body)
  })
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send({
      error: 'invalid_request',
      error_description: `there is no ${request.method} ${pathOf(request).slice(0, 200)}`,
    }),
  )
  return app
}

const foreignHost = JSON.stringify({
  error: 'access_denied',
  error_description: 'the Host header names another host; add the name to listen.hosts if it is this one',
})

/** The connection ends: whatever follows on it is of the same page. */
function refuseHost(response: ServerResponse): void {
  response.setHeader('Connection', 'close')
  sendJson(response, 403, foreignHost)
}

/** The servers of an app: one for each address. All of them serve the same listener, and close with the app. */
function createServers(limits: Limits) {
  /** All but the first one, which the app opens and closes. */
  const others: Server[] = []
  const closing: Promise<unknown>[] = []
  let listener: Listener | undefined
  const make = (): Server => {
    const server = createHttpServer(limits)
    attach(server, listener!)
    return server
  }
  const close = (server: Server) => {
    const closed = new Promise((resolve) => server.close(resolve))
    endConnections(server, graceMs)
    return closed
  }
  return {
    serve(of: Listener): void {
      listener = of
    },
    make,
    /** Listens at another address. @throws (it rejects with) the error of the system */
    async open(host: string, port: number): Promise<void> {
      const server = make()
      await open(server, { host, port })
      others.push(server)
    },
    /** They accept no more connections, and close those that they have. */
    end(first: Server): void {
      // One that never listened does not close, and so its timers would not end.
      if (first.listening) endConnections(first, graceMs)
      closing.push(...others.map(close))
    },
    /** Resolves when all but the first one are closed. */
    closed: () => Promise.all(closing),
  }
}

const serversOf = new WeakMap<FastifyInstance, ReturnType<typeof createServers>>()

/**
 * Opens the listener of an app.
 *
 * @param host an address, or `localhost`: 127.0.0.1 and, where the machine has it, ::1
 * @param portSetting what sets the port, for people
 * @param onUrl called with the URL, without a path, before the first request is served
 * @throws ListenError
 */
export async function listenApp(
  app: FastifyInstance,
  host: string,
  port: number,
  portSetting: string,
  onUrl: (url: string) => void,
): Promise<void> {
  const isLocal = host === 'localhost'
  const address = isLocal ? '127.0.0.1' : host
  const opened = () => (app.server.address() as AddressInfo).port
  const report = () => onUrl(`http://${address.includes(':') ? `[${address}]` : address}:${opened()}`)
  app.server.once('listening', safely('http.listening', report))
  const failed = (at: string, cause: NodeJS.ErrnoException) =>
    cause.code === 'EADDRINUSE'
      ? portInUse(port, portSetting, cause, at)
      : new ListenError(`can't listen on port ${port} of ${at}: ${cause.message}`, { cause })
  await app.listen({ host: address, port }).catch((cause) => {
    throw failed(address, cause)
  })
  if (!isLocal) return
  try {
    await serversOf.get(app)!.open('::1', opened())
  } catch (cause) {
    // With any free port, one that is in use there is as good as a machine without IPv6.
    if (isMissing(cause as NodeJS.ErrnoException) || port === 0) return
    await app.close()
    throw failed('::1', cause as NodeJS.ErrnoException)
  }
}
