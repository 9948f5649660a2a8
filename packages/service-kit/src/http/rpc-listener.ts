import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { openRpcPath, RpcError, rpcPath } from '@selvedge/protocol'
import type { Answer, Dispatcher } from '@selvedge/protocol/jsonrpc'
import { readBody } from './body.ts'
import { createGuard, type GuardOptions, isJsonType, type Refusal, readGuardedHeaders } from './guard.ts'
import type { Listener } from './listen.ts'
import { sendJson } from './send-json.ts'

/** What the transport tells a handler of the caller. */
export interface CallContext {
  /** The Authorization header as it came. */
  readonly authorization: string | undefined
  /** The DPoP header as it came. */
  readonly dpop: string | undefined
  /** The Host header, which the guard has let through. */
  readonly host: string
  readonly method: 'POST'
  readonly path: string
}

export interface RpcListenerOptions {
  readonly dispatcher: Dispatcher<CallContext>
  readonly guard: GuardOptions
  /** Largest body in bytes. */
  readonly maxBody: number
  /** Seconds in which a body must have arrived. Default 30. */
  readonly bodySeconds?: number
  /** The next DPoP nonce, for callers that send proofs (RFC 9449 § 9). */
  readonly nonce?: () => string
  /** The OpenRPC document as JSON text; absent: the path is not served. */
  readonly openRpc?: () => string
  /** Answers what is for no path of this listener; absent: 404. The guard has let it through. */
  readonly others?: Listener
}

/** Milliseconds between two looks for bodies that take too long. */
const sweepInterval = 5000

/**
 * JSON-RPC over HTTP at `/jsonrpc/v1`. Below Fastify on purpose: two exact paths need no router, and this is the path whose
 * cost the whole device feels (measured in bench/).
 */
export function createRpcListener({
  dispatcher,
  guard,
  maxBody,
  bodySeconds = 30,
  nonce,
  openRpc,
  others,
}: RpcListenerOptions): Listener {
  const check = createGuard(guard)
  const allowedOrigins = new Set(guard.allowedOrigins)

  // One sweep for all bodies: a timer a request would cost each call what a slow one deserves.
  const arriving = new Map<IncomingMessage, number>()
  setInterval(() => {
    const oldest = performance.now() - bodySeconds * 1000
    for (const [request, begun] of arriving) {
      if (begun < oldest) request.destroy()
      if (request.destroyed) arriving.delete(request)
    }
  }, sweepInterval).unref()

  const handle: RequestListener = (request, response) => {
    const headers = readGuardedHeaders(request)
    const refused = request.httpVersionMajor === 1 ? check(headers) : oldHttp
    if (refused) return refuse(request, response, refused)
    if (headers.origin !== undefined && allowedOrigins.has(headers.origin)) {
      allowPage(response, headers.origin)
      if (request.method === 'OPTIONS') return void response.writeHead(204).end()
    }
    const { url, method } = request
    if (url !== rpcPath) return other(request, response)
    if (method !== 'POST') return notAllowed(request, response, 'POST')
    if (!isJsonType(headers.contentType)) {
      const message = `the content type is ${JSON.stringify(headers.contentType ?? '')}; send application/json in UTF-8`
      return refuse(request, response, { status: 415, reason: 'unsupported_media_type', message })
    }
    arriving.set(request, performance.now())
    readBody(request, maxBody, (body) => {
      arriving.delete(request)
      if (!body) {
        const message = `the body is larger than ${maxBody} bytes; send a smaller one`
        return refuse(request, response, { status: 413, reason: 'limit_exceeded', message })
      }
      if (!isUtf8(body)) {
        return answer(response, dispatcher.refuse(new RpcError('parse_error', 'the body is not valid UTF-8')))
      }
      if (headers.dpop !== undefined && nonce) response.setHeader('DPoP-Nonce', nonce())
      const text = dispatcher.dispatch(body.toString(), {
        authorization: headers.authorization,
        dpop: headers.dpop,
        host: headers.host!,
        method: 'POST',
        path: rpcPath,
      })
      if (text instanceof Promise) text.then((late) => answer(response, late))
      else answer(response, text)
    })
  }

  const upgrade: Listener['upgrade'] = (request, socket, head) => {
    const refused = check(readGuardedHeaders(request))
    if (!refused && others?.upgrade) return others.upgrade(request, socket, head)
    socket.on('error', () => socket.destroy())
    socket.end(`HTTP/1.1 ${refused?.status ?? 404} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  }

  const other: RequestListener = (request, response) => {
    if (request.url !== openRpcPath || !openRpc) {
      if (others) return others.request(request, response)
      const message = `there is nothing at ${JSON.stringify(request.url?.slice(0, 200))}; the API is at POST ${rpcPath}`
      refuse(request, response, { status: 404, reason: 'not_found', message })
    } else if (request.method !== 'GET') {
      notAllowed(request, response, 'GET')
    } else {
      request.resume()
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

function notAllowed(request: IncomingMessage, response: ServerResponse, allow: string): void {
  response.setHeader('Allow', allow)
  refuse(request, response, { status: 405, reason: 'method_not_allowed', message: `send ${allow}` })
}

function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  { status, reason, message }: Refusal,
): void {
  const text = JSON.stringify({ error: { code: status, message, reason } })
  request.resume()
  response.setHeader('Connection', 'close')
  sendJson(response, status, text)
}

function answer(response: ServerResponse, text: Answer): void {
  if (text === undefined) response.writeHead(204).end()
  else sendJson(response, 200, text)
}
