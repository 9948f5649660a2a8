import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { OAuthError } from '@selvedge/protocol'
import fastify, { type FastifyError, type FastifyInstance } from 'fastify'
import { endConnections } from '../http/close-server.ts'
import { ListenError, portInUse } from '../http/listen.ts'
import { busyMessage, createLoadShedder } from '../http/load-shedder.ts'
import { createRefuseBusy } from '../http/refuse-busy.ts'
import { requestIdOf } from '../http/request-id.ts'
import { sendJson } from '../http/send-json.ts'
import { attach, createHttpServer, type Limits } from '../http/server.ts'
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
  /** Time for bodies; for tests. */
  readonly limits?: Limits
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
  { hotPath, vital, acceptsHost = () => true, readiness = alwaysReady, limits = {} }: HttpAppOptions,
): FastifyInstance {
  const shedder = createLoadShedder()
  const vitalPaths = new Set(vital)
  const refuseBusy = createRefuseBusy(shedder, {
    error: 'temporarily_unavailable',
    error_description: busyMessage,
  })
  const app = fastify({
    bodyLimit: maxBody,
    logger: false,
    // Requests that are under way when it closes are answered.
    return503OnClosing: false,
    serverFactory: (router) => {
      const server = createHttpServer({ isDraining: readiness.isDraining, ...limits })
      const listener = hotPath ? withHotPath(hotPath, { maxBody, log, refuseBusy }, router) : router
      attach(server, {
        request: (request, response) => {
          if (!acceptsHost(request.headers.host)) refuseHost(response)
          else if (!vitalPaths.has(pathOf(request)) && shedder.isBusy(request.socket)) refuseBusy(response)
          else listener(request, response)
        },
      })
      return server
    },
  })
  limitRoutes(app, vitalPaths, refuseBusy)
  app.decorate('eventStreams', new Set<EventStream>())
  app.addHook('preClose', (done) => {
    for (const each of app.eventStreams) each.end()
    endConnections(app.server, graceMs)
    done()
  })
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
    const {
      status,
      body,
      headers = {},
    } = describeError(cause, request.url.split('?', 1)[0]!, log, request.raw)
    return reply.code(status).headers(headers).send(body)
  })
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send({
      error: 'invalid_request',
      error_description: `there is no ${request.method} ${request.url.split('?', 1)[0]?.slice(0, 200)}`,
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

/**
 * Opens the listener of an app.
 *
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
  const report = () => onUrl(`http://${host}:${(app.server.address() as AddressInfo).port}`)
  app.server.once('listening', safely('http.listening', report))
  await app.listen({ host, port }).catch((cause) => {
    if (cause.code === 'EADDRINUSE') throw portInUse(port, portSetting, cause)
    throw new ListenError(`can't listen on port ${port} of ${host}: ${cause.message}`, { cause })
  })
}
