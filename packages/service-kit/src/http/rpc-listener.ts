import { isUtf8 } from 'node:buffer'
import type { RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { openRpcPath, RpcError, rpcPath } from '@selvedge/protocol'
import type { Answer, Dispatcher } from '@selvedge/protocol/jsonrpc'
import { safely } from '../safely/safely.ts'
import { readBody, smallBody } from './body.ts'
import {
  createGuard,
  type GuardedHeaders,
  type GuardOptions,
  isJsonType,
  type Refusal,
  readGuardedHeaders,
} from './guard.ts'
import { busyMessage, createLoadShedder, type LoadShedder, retryAfterSeconds } from './load-shedder.ts'
import { createOneATurn } from './one-a-turn.ts'
import { createRefuseBusy } from './refuse-busy.ts'
import { sendJson } from './send-json.ts'
import type { Listener } from './server.ts'
import type { ShedContext } from './shed-calls.ts'

/** What the transport passes to a handler about the caller. */
export interface CallContext extends ShedContext {
  /** The Authorization header as it came. */
  readonly authorization: string | undefined
  /** The DPoP header as it came. */
  readonly dpop: string | undefined
  /** The Host header, which the guard has let through. */
  readonly host: string
  readonly method: 'POST'
  readonly path: string
  /** Whether the call came over TLS, so from another machine. */
  readonly overTls: boolean
  readonly socket: Socket
}

export interface RpcListenerOptions {
  readonly dispatcher: Dispatcher<CallContext>
  readonly guard: GuardOptions
  /** Whether the listener speaks TLS. Default false. */
  readonly overTls?: boolean
  /** Largest body in bytes. */
  readonly maxBody: number
  /** Runs the parsing of large bodies; listeners of one process share it. */
  readonly oneATurn?: (work: () => void) => void
  /** The next DPoP nonce, for callers that send proofs (RFC 9449 § 9). */
  readonly nonce?: () => string
  /** The OpenRPC document as JSON text; absent: the path is not served. */
  readonly openRpc?: () => string
  /** Refuses what is for `others` in an overload; methods are shed by their dispatcher. Default: a new one. */
  readonly shedder?: LoadShedder
  /** Answers what is for no path of this listener; absent: 404. The guard has let it through. */
  readonly others?: Listener
}

/** Maximum bytes of all large bodies of a listener together: they are in memory until they are complete, and need no credential. */
const maxLargeBodies = 64 * 1024 * 1024
const busy: Refusal = {
  status: 503,
  reason: 'busy',
  message: `too many bodies of more than ${smallBody} bytes at once; send it again in a moment`,
}

/**
 * JSON-RPC over HTTP at `/jsonrpc/v1`. Below Fastify on purpose: two exact paths need no router, and this is the path whose
 * cost the whole device feels (measured in bench/).
 */
export function createRpcListener({
  dispatcher,
  guard,
  maxBody,
  oneATurn = createOneATurn(),
  overTls = false,
  nonce,
  openRpc,
  shedder = createLoadShedder(),
  others,
}: RpcListenerOptions): Listener {
  const check = createGuard(guard)
  const allowedOrigins = new Set(guard.allowedOrigins)
  const refuseBusy = createRefuseBusy(shedder, { error: { code: 503, message: busyMessage, reason: 'busy' } })
  let reserved = 0

  const handle: RequestListener = (request, response) => {
    const headers = readGuardedHeaders(request)
    const refused = request.httpVersionMajor === 1 ? check(headers) : oldHttp
    if (refused) return refuse(response, refused)
    if (headers.origin !== undefined && allowedOrigins.has(headers.origin)) {
      allowPage(response, headers.origin)
      if (request.method === 'OPTIONS') return void response.writeHead(204).end()
    }
    const { url, method } = request
    if (url !== rpcPath) return other(request, response)
    if (method !== 'POST') return notAllowed(response, 'POST')
    if (!isJsonType(headers.contentType)) {
      const message = `the content type is ${JSON.stringify(headers.contentType ?? '')}; send application/json in UTF-8`
      return refuse(response, { status: 415, reason: 'unsupported_media_type', message })
    }
    let hasRoom = true
    const admitLarge = () => {
      hasRoom = reserve(response)
      return hasRoom
    }
    const onBody = (body: Buffer | undefined) => {
      if (!hasRoom) return refuse(response, busy)
      if (!body) {
        const message = `the body is larger than ${maxBody} bytes; send a smaller one`
        return refuse(response, { status: 413, reason: 'limit_exceeded', message })
      }
      if (body.length <= smallBody) answerCall(response, headers, body)
      else oneATurn(() => answerCall(response, headers, body))
    }
    readBody(request, maxBody, onBody, admitLarge)
  }

  /** Reserves memory for a large body until its request ends. @returns whether there was enough */
  function reserve(response: ServerResponse): boolean {
    if (reserved + maxBody > maxLargeBodies) return false
    reserved += maxBody
    response.once('close', () => {
      reserved -= maxBody
    })
    return true
  }

  function answerCall(response: ServerResponse, headers: GuardedHeaders, body: Buffer): void {
    if (!isUtf8(body)) {
      answer(response, dispatcher.refuse(new RpcError('parse_error', 'the body is not valid UTF-8')))
      return
    }
    if (headers.dpop !== undefined && nonce) response.setHeader('DPoP-Nonce', nonce())
    const context: CallContext = {
      authorization: headers.authorization,
      dpop: headers.dpop,
      host: headers.host!,
      method: 'POST',
      path: rpcPath,
      overTls,
      socket: response.req.socket,
    }
    const text = dispatcher.dispatch(body.toString(), context, body.length)
    const send = (ready: Answer) => {
      if (context.isBusy) response.setHeader('Retry-After', retryAfterSeconds)
      answer(response, ready)
      if (context.isBusy) shedder.wasRefused(context.socket)
    }
    if (text instanceof Promise)
      text.then(
        safely('http.answer', send, () => response.destroy()),
        safely('http.answer', () => response.destroy()),
      )
    else send(text)
  }

  const upgrade: Listener['upgrade'] = (request, socket, head) => {
    const refused = check(readGuardedHeaders(request))
    const isBusy = others?.upgrade !== undefined && shedder.isBusy(request.socket)
    if (!refused && !isBusy && others?.upgrade) return others.upgrade(request, socket, head)
    socket.on('error', () => socket.destroy())
    const status = refused?.status ?? (isBusy ? 503 : 404)
    const retryAfter = isBusy ? `Retry-After: ${retryAfterSeconds}\r\n` : ''
    socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\n${retryAfter}Content-Length: 0\r\n\r\n`)
  }

  const other: RequestListener = (request, response) => {
    if (request.url !== openRpcPath || !openRpc) {
      if (others)
        return shedder.isBusy(request.socket) ? refuseBusy(response) : others.request(request, response)
      const message = `there is nothing at ${JSON.stringify(request.url?.slice(0, 200))}; the API is at POST ${rpcPath}`
      refuse(response, { status: 404, reason: 'not_found', message })
    } else if (request.method !== 'GET') {
      notAllowed(response, 'GET')
    } else {
      answer(response, openRpc())
    }
  }

  return { request: handle, upgrade }
}

/** CORS for a page of an origin that the configuration names, and for no other (Fetch Standard § 3.2). */
function allowPage(response: ServerResponse, origin: string): void {
  response.setHeader('Access-Control-Allow-Origin', origin)
  response.setHeader('Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, PATCH, DELETE')
  response.setHeader('Access-Control-Allow-Headers', 'Content-Type, Authorization')
  response.setHeader('Access-Control-Max-Age', '600')
  response.setHeader('Vary', 'Origin')
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

function answer(response: ServerResponse, text: Answer): void {
  if (text === undefined) response.writeHead(204).end()
  else sendJson(response, 200, text)
}
