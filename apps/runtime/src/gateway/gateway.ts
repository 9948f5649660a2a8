/** Forwards requests to the services of this device: `/<clientId><base path>/…` and `/api<base path>/…`, with the right token. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type ContainerSettings, RpcError, readSettings } from '@selvedge/protocol'
import { inBackground, safely } from '@selvedge/service-kit/safely'
import type { Running } from '../containers/instances.ts'
import type { Route } from '../containers/views.ts'
import type { LastingAnswers } from '../tokens/lasting.ts'
import type { Admit, Admitted } from './admit.ts'
import { requestHeaders } from './headers.ts'
import { type RequestPath, readPath } from './path.ts'
import { provenRequest } from './proven-request.ts'
import { createProxy, type Passage } from './proxy.ts'
import { type HttpRefusal, refusalOf, sendError, sendRefusal } from './refusal.ts'
import type { Match, Routes } from './routes.ts'
import { passUpgrade } from './upgrade.ts'

export interface Gateway {
  /** Answers a request that is for no other part of the runtime. */
  handle(request: IncomingMessage, response: ServerResponse): void
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  close(): void
}

export interface GatewayParts {
  readonly routes: Routes
  readonly admit: Admit
  readonly lasting: LastingAnswers
  /** The associated account, or "". */
  readonly accountId: () => string
  readonly now: () => number
  /** The next DPoP nonce, for callers whose proof was refused. */
  readonly nonce: () => string
  readonly onInternalError: (cause: unknown) => string
}

export function createGateway(parts: GatewayParts): Gateway {
  const { routes, admit, now, nonce, onInternalError } = parts
  const proxy = createProxy(now)
  const settings = new WeakMap<object, ContainerSettings>()
  const settingsOf = ({ container }: Route): ContainerSettings => {
    let known = settings.get(container.env)
    if (!known) {
      known = readSettings(container.env)
      settings.set(container.env, known)
    }
    return known
  }

  function find({ url = '' }: IncomingMessage): { match: Match; path: RequestPath } {
    const path = readPath(url)
    if (!path && url.startsWith('/'))
      throw new RpcError(
        'invalid_params',
        `the path ${JSON.stringify(url.slice(0, 200))} is not one that can be routed`,
      )
    const match = path && routes.find(path.path)
    if (!match) {
      throw new RpcError('not_found', `there is nothing at ${JSON.stringify(url.slice(0, 200))}`, {
        hint: 'Services are at /<clientId><base path>; getContainers shows where. The JSON-RPC API is at POST /jsonrpc/v1.',
      })
    }
    return { match, path }
  }

  function passageOf(
    request: IncomingMessage,
    { match, path }: ReturnType<typeof find>,
    caller: Admitted | undefined,
    running: Running,
  ): Passage {
    const { route, prefix, rest } = match
    const own = settingsOf(route)
    const { accountId } = route.container
    const expectAllowed = () => {
      caller?.expectStillValid()
      if (accountId !== parts.accountId())
        throw new RpcError('not_associated', 'the account of the service has left this runtime')
    }
    const verifyAgain = async () => admit(route, provenRequest(request))
    return {
      running,
      path: rest + path.query,
      headers: requestHeaders(request.rawHeaders, {
        caller,
        prefix,
        forwardToken: own['MCM.FORWARD_TOKEN'],
        from: request.socket.remoteAddress ?? '',
        proto: 'encrypted' in request.socket ? 'https' : 'http',
      }),
      sandboxed: own['MCM.PAGES'] === 'sandboxed',
      limitMs: own['MCM.MAX_EXECUTION_TIME_SEC'] * 1000,
      endWithCaller: (end) => parts.lasting.watch({ expectAllowed, verifyAgain, end }),
      onOverrun: () => inBackground('gateway.overrun', route.service.overran(running)),
    }
  }

  /** Nothing is awaited where nothing has to be: a known token and a running service cost no turn of the event loop. */
  function prepare(
    request: IncomingMessage,
    done: (passage: Passage) => void,
    failed: (cause: unknown, down: HttpRefusal | undefined) => void,
  ): void {
    let asked: Route | undefined
    const fail = safely('gateway.refuse', (cause: unknown) => failed(cause, downRefusal(cause, asked)))
    try {
      const found = find(request)
      const { route } = found.match
      asked = route
      const begin = (running: Running, caller: Admitted | undefined) => {
        if (!running.limit.hasRoom(running.unanswered)) throw tooMany
        done(passageOf(request, found, caller, running))
      }
      const start = (caller: Admitted | undefined) => {
        const running = route.service.acquire()
        if (running instanceof Promise) running.then((late) => begin(late, caller)).catch(fail)
        else begin(running, caller)
      }
      const caller = admit(route, provenRequest(request))
      if (caller instanceof Promise) caller.then(start).catch(fail)
      else start(caller)
    } catch (cause) {
      fail(cause)
    }
  }

  return {
    handle(request, response) {
      prepare(
        request,
        (passage) => {
          // While the service was started, its caller may have gone.
          if (!response.destroyed) proxy.pass(request, response, passage)
        },
        (cause, down) => {
          if (request.headers.dpop !== undefined && !response.headersSent)
            response.setHeader('DPoP-Nonce', nonce())
          if (down && !response.headersSent) sendRefusal(response, down)
          else sendError(response, cause, onInternalError)
        },
      )
    },
    handleUpgrade(request, socket, head) {
      socket.on('error', () => socket.destroy())
      prepare(
        request,
        (passage) => passUpgrade(socket, head, passage, now),
        (cause, down) => {
          if (down) refuseUpgrade(socket, down)
          else if (cause instanceof RpcError) refuseUpgrade(socket, refusalOf(cause))
          else
            refuseUpgrade(socket, { status: 500, reason: 'internal_error', message: onInternalError(cause) })
        },
      )
    },
    close: () => proxy.close(),
  }
}

function refuseUpgrade(socket: Duplex, { status, message, reason }: HttpRefusal): void {
  const body = JSON.stringify({ error: { code: status, message, reason } })
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

/** One object: a refusal must cost next to nothing, and a stack trace is most of it. */
const tooMany = new RpcError('busy', 'the service has more requests than it can answer; send it again in 1 s')

const startFailures = new Set<string>(['container_failed', 'engine_unavailable', 'storage_full'])
const isDown = (cause: unknown): cause is RpcError =>
  cause instanceof RpcError && startFailures.has(cause.reason)

/** A service that its owner stopped does not start by itself: no caller needs to try again. */
const stopped: HttpRefusal = {
  status: 503,
  reason: 'stopped',
  message: 'the service is stopped',
  hint: 'Its owner starts it with "selvedge container start".',
}
/** Callers of a service that fails learn only that. Its last lines are for its owner. */
const failing: HttpRefusal = {
  status: 503,
  reason: 'container_failed',
  message: 'the service is down',
  hint: '"selvedge why" shows the reason to its owner.',
  headers: { 'Retry-After': '1' },
}

/** The refusal of a request for a service that does not run; undefined for any other failure. */
function downRefusal(cause: unknown, route: Route | undefined): HttpRefusal | undefined {
  if (!isDown(cause)) return undefined
  return route?.isStopped() ? stopped : failing
}
