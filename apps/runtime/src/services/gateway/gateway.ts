/** Forwards requests to the services of this device: `/<clientId><base path>/…` and `/api<base path>/…`, with a valid token. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { RpcError } from '@selvedge/protocol'
import { maxConnectionsOf } from '@selvedge/service-kit/http'
import { safely } from '@selvedge/service-kit/safely'
import type { Running } from '../containers/instances.ts'
import type { Route } from '../containers/views.ts'
import type { Admitted } from './admit.ts'
import { downRefusal } from './down-refusal.ts'
import { serviceHeader } from './headers.ts'
import { type Passage, type PassageParts, passageOf } from './passage.ts'
import { provenRequest } from './proven-request.ts'
import { createProxy } from './proxy.ts'
import { type HttpRefusal, refusalOf, refuseUpgrade, sendError, sendRefusal } from './refusal.ts'
import type { Routes } from './routes.ts'
import { findNamedTarget, findTarget, findUpgradeTarget } from './target.ts'
import { passUpgrade } from './upgrade.ts'

export interface Gateway {
  /** Answers a request that is for no other part of the runtime. */
  handle(request: IncomingMessage, response: ServerResponse): void
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  close(): void
}

export interface GatewayParts extends PassageParts {
  readonly routes: Routes
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** The next DPoP nonce, sent if a proof was refused. */
  readonly nonce: () => string
  readonly onInternalError: (cause: unknown, request: IncomingMessage) => string
  /** Requests and WebSockets of one instance that may be open. Default: half of the connections of a listener. */
  readonly maxOpen?: number
}

export function createGateway(parts: GatewayParts): Gateway {
  const { now, nonce, onInternalError } = parts
  const admitTo = createAdmitTo(parts, parts.maxOpen ?? Math.floor(maxConnectionsOf() / 2))
  const proxy = createProxy(now)
  return {
    handle(request, response) {
      admitTo(
        request,
        findOf(request),
        (passage) => {
          // The client may have gone while the service was started.
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
      admitTo(
        request,
        findUpgradeTarget,
        (passage) => {
          if (passage.speaksHttp2) refuseUpgrade(request, socket, noWebSocket)
          else passUpgrade(socket, head, passage, now)
        },
        (cause, down) => {
          if (down) refuseUpgrade(request, socket, down)
          else if (cause instanceof RpcError) refuseUpgrade(request, socket, refusalOf(cause))
          else
            refuseUpgrade(request, socket, {
              status: 500,
              reason: 'internal_error',
              message: onInternalError(cause, request),
            })
        },
      )
    },
    close: () => proxy.close(),
  }
}

type Find = typeof findTarget

/** How the service of a request is found: by its path, or by a header that names it. */
function findOf({ headers }: IncomingMessage): Find {
  const named = headers[serviceHeader]
  // One that came twice is joined, and names no service.
  return named === undefined ? findTarget : (routes, url) => findNamedTarget(routes, url, String(named))
}

type Failed = (cause: unknown, down: HttpRefusal | undefined) => void

/**
 * Finds the service of a request, checks the caller and gets a running instance. Synchronous if the token is known and the
 * service runs: a promise would cost each request another turn of the event loop.
 *
 * @param find gives the service of a URL
 * @param failed `down`: the refusal to send if the service does not run
 */
const createAdmitTo =
  (parts: Pick<GatewayParts, keyof PassageParts | 'routes'>, maxOpen: number) =>
  (request: IncomingMessage, find: Find, done: (passage: Passage) => void, failed: Failed): void => {
    let requested: Route | undefined
    const fail = safely('gateway.refuse', (cause: unknown) => failed(cause, downRefusal(cause, requested)))
    try {
      const target = find(parts.routes, request.url ?? '')
      const { route } = target.match
      requested = route
      const begin = (running: Running, caller: Admitted | undefined) => {
        if (!running.unanswered.hasRoom()) throw tooMany
        if (running.requests.underWay >= maxOpen) throw tooManyOpen
        done(passageOf(parts, request, target, caller, running))
      }
      const start = (caller: Admitted | undefined) => {
        const running = route.service.acquire()
        if (running instanceof Promise) running.then((late) => begin(late, caller)).catch(fail)
        else begin(running, caller)
      }
      const caller = parts.admit(route, provenRequest(request))
      if (caller instanceof Promise) caller.then(start).catch(fail)
      else start(caller)
    } catch (cause) {
      fail(cause)
    }
  }

const noWebSocket: HttpRefusal = {
  status: 501,
  reason: 'unsupported_upgrade',
  message: 'the service speaks HTTP/2 (MCM.PROTOCOL "h2c"), over which the gateway passes no WebSockets on',
}

/** Created once: a refusal must cost little, and the stack trace of an exception is most of its cost. */
const tooMany = new RpcError('busy', 'the service has more requests than it can answer; send it again in 1 s')
/** They may last for ever, and share the connections of a listener with the API. */
const tooManyOpen = new RpcError(
  'busy',
  'the service has too many answers and WebSockets that are still open',
)
