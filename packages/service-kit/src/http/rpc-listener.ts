import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { healthPaths, openRpcPath, rpcPath } from '@selvedge/protocol'
import type { Readiness } from '../lifecycle/readiness.ts'
import type { RpcSockets } from '../websocket/rpc-sockets.ts'
import { endWhenClosed } from '../work/until-closed.ts'
import { createWorkCount } from '../work/work-count.ts'
import { readBody, smallBody } from './body.ts'
import {
  type GuardOptions,
  isJsonType,
  isUntypedOfProgram,
  type Refusal,
  readGuardedHeaders,
} from './guard.ts'
import { busyMessage, createLoadShedder, type LoadShedder, retryAfterSeconds } from './load-shedder.ts'
import { createOneATurn } from './one-a-turn.ts'
import { createPageGate, isCallPath } from './page-gate.ts'
import { createRefuseBusy } from './refuse-busy.ts'
import { answer, createAnswerCall, type RpcCallOptions } from './rpc-call.ts'
import { createUpgrade } from './rpc-upgrade.ts'
import { sendJson } from './send-json.ts'
import type { Listener } from './server.ts'

export interface RpcListenerOptions extends RpcCallOptions {
  readonly guard: GuardOptions
  /** Nonce of the page of this listener; absent: it has no page. */
  readonly pageNonce?: string | undefined
  /** Largest body in bytes. */
  readonly maxBody: number
  /** Whether programs on this machine may leave the content type out. Default: false. */
  readonly readsUntyped?: boolean
  /** Runs the parsing of large bodies; listeners of one process share it. */
  readonly oneATurn?: (work: () => void) => void
  /** Memory of large bodies; listeners that share it have it together. Default: one of its own. */
  readonly bodyMemory?: BodyMemory
  /** The OpenRPC document as JSON text; absent: the path is not served. */
  readonly openRpc?: () => string
  /** Refuses what is for `others` in an overload; methods are shed by their dispatcher. Default: a new one. */
  readonly shedder?: LoadShedder
  /** Answers the checks of `healthPaths`; absent: the paths are not served. */
  readonly readiness?: Readiness
  /** Calls over WebSocket; absent: HTTP only. */
  readonly sockets?: RpcSockets
  /** Answers what is for no path of this listener; absent: 404. The guard has let it through. */
  readonly others?: Listener
}

/** Maximum bytes of all large bodies of a listener together: they are in memory until they are complete, and need no credential. */
const maxLargeBodiesBytes = 64 * 1024 * 1024
const busy: Refusal = {
  status: 503,
  reason: 'busy',
  message: `too many bodies of more than ${smallBody} bytes at once; send it again in a moment`,
}

/**
 * JSON-RPC over HTTP at `/jsonrpc/v1`. Below Fastify on purpose: two exact paths need no router, and every call of the device
 * uses one of them (measured in bench/).
 */
export function createRpcListener(options: RpcListenerOptions): Listener {
  const {
    guard,
    pageNonce,
    maxBody,
    readsUntyped = false,
    oneATurn = createOneATurn(),
    bodyMemory = createBodyMemory(maxBody),
    openRpc,
    shedder = createLoadShedder(),
    readiness,
    sockets,
    overTls = false,
    others,
  } = options
  const gate = createPageGate(guard, pageNonce)
  const refuseBusy = createRefuseBusy(shedder, { error: { code: 503, message: busyMessage, reason: 'busy' } })
  const answerCall = createAnswerCall(options, shedder)

  const handle: RequestListener = (request, response) => {
    const headers = readGuardedHeaders(request)
    const refused = request.httpVersionMajor === 1 ? gate.check(request, headers) : oldHttp
    if (refused) return refuse(response, refused)
    if (gate.answerPreflight(request, headers, response)) return
    const { url, method } = request
    if (!isCallPath(url)) return other(request, response)
    if (method !== 'POST') return notAllowed(response, 'POST')
    if (!isJsonType(headers.contentType) && !(readsUntyped && isUntypedOfProgram(request))) {
      const message = `the content type is ${JSON.stringify(headers.contentType ?? '')}; send application/json in UTF-8`
      return refuse(response, { status: 415, reason: 'unsupported_media_type', message })
    }
    let hasRoom = true
    const admitLarge = () => {
      hasRoom = bodyMemory.reserve(response)
      return hasRoom
    }
    const onBody = (body: Buffer | undefined) => {
      if (!hasRoom) return refuse(response, busy)
      if (!body) {
        const message = `the body is larger than ${maxBody} bytes; send a smaller one`
        return refuse(response, { status: 413, reason: 'limit_exceeded', message })
      }
      if (body.length <= smallBody) answerCall(response, headers, body)
      else
        oneATurn(() => {
          // Its client may have gone while it waited for its turn.
          if (!response.closed) answerCall(response, headers, body)
        })
    }
    readBody(request, maxBody, onBody, admitLarge)
  }

  const upgrade = createUpgrade({ gate, shedder, overTls, sockets, others: others?.upgrade })

  const other: RequestListener = (request, response) => {
    if (readiness && isHealthPath(request.url)) return answerHealth(request, response, readiness)
    if (request.url !== openRpcPath || !openRpc) {
      if (others)
        return shedder.isBusy(request.socket) ? refuseBusy(response) : others.request(request, response)
      const message = `there is nothing at ${JSON.stringify(request.url?.slice(0, 200))}; the API is at POST ${rpcPath}`
      refuse(response, { status: 404, reason: 'not_found', message })
    } else if (!isRead(request.method)) {
      notAllowed(response, 'GET, HEAD')
    } else {
      answer(response, openRpc())
    }
  }

  return { request: handle, upgrade }
}

/** HEAD is answered wherever GET is (RFC 9110 § 9.3.2). */
const isRead = (method: string | undefined): boolean => method === 'GET' || method === 'HEAD'

const isHealthPath = (url: string | undefined): boolean =>
  url === healthPaths.health || url === healthPaths.ready

/** A device that answers is healthy; its state was opened before. */
function answerHealth(
  { url, method }: IncomingMessage,
  response: ServerResponse,
  readiness: Readiness,
): void {
  if (!isRead(method)) {
    notAllowed(response, 'GET, HEAD')
    return
  }
  const isOk = url === healthPaths.health || readiness.isReady()
  const stalled = readiness.stalled()
  const body = isOk ? { status: 'ok' } : { status: 'unavailable', ...(stalled.length > 0 && { stalled }) }
  sendJson(response, isOk ? 200 : 503, JSON.stringify(body))
}

/** The memory of large bodies. */
interface BodyMemory {
  /** Reserves memory until a request ends. @returns whether there was enough */
  reserve(response: ServerResponse): boolean
}

/** @param maxBody bytes that are reserved for each large body */
export function createBodyMemory(maxBody: number): BodyMemory {
  const bodies = createWorkCount('large_bodies')
  return {
    reserve(response) {
      if ((bodies.underWay + 1) * maxBody > maxLargeBodiesBytes) return false
      endWhenClosed(response, bodies.begin())
      return true
    },
  }
}

const oldHttp: Refusal = { status: 400, reason: 'bad_request', message: 'the request is not of HTTP/1.1' }

function notAllowed(response: ServerResponse, allow: string): void {
  response.setHeader('Allow', allow)
  refuse(response, { status: 405, reason: 'method_not_allowed', message: `send ${allow}` })
}

function refuse(response: ServerResponse, { status, reason, message }: Refusal): void {
  const text = JSON.stringify({ error: { code: status, message, reason } })
  response.setHeader('Connection', 'close')
  if (status === 503) response.setHeader('Retry-After', retryAfterSeconds)
  sendJson(response, status, text)
}
