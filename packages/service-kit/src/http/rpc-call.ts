/** One call over HTTP: its bytes go to the dispatcher, and the text of the answer back to the caller. */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { RpcError } from '@selvedge/protocol'
import type { Answer, Dispatcher } from '@selvedge/protocol/jsonrpc'
import { safely } from '../safely/safely.ts'
import { inRequest } from '../trace/trace.ts'
import type { GuardedHeaders } from './guard.ts'
import { type LoadShedder, retryAfterSeconds } from './load-shedder.ts'
import { requestIdOf } from './request-id.ts'
import type { RpcConnection } from './rpc-connection.ts'
import { sendJson } from './send-json.ts'
import type { ShedContext } from './shed-calls.ts'
import { pathOf } from './target.ts'

/** What the transport passes to a handler about the caller. */
export interface CallContext extends ShedContext {
  /** The Authorization header as it came. */
  readonly authorization: string | undefined
  /** The DPoP header as it came. */
  readonly dpop: string | undefined
  /** The Host header, which the guard has let through. */
  readonly host: string
  /** GET: the handshake of a WebSocket. */
  readonly method: 'GET' | 'POST'
  /** As the caller spelled it: its proof names it (`htu`, RFC 9449 § 4.2). */
  readonly path: string
  /** Whether the call came over TLS, so from another machine. */
  readonly overTls: boolean
  readonly socket: Socket
  /** Of the request, or of the handshake of the WebSocket: what its ID is found in. */
  readonly request: Pick<IncomingMessage, 'rawHeaders'>
  /** When its body had arrived, on the scale of `performance.now()`; 0 while nothing measures. */
  readonly begunAt: number
  /** The WebSocket that the call came over; absent: it came in a request of its own. */
  readonly connection?: RpcConnection
}

export interface RpcCallOptions {
  readonly dispatcher: Dispatcher<CallContext>
  /** Whether the listener speaks TLS. Default false. */
  readonly overTls?: boolean
  /** Whether the dispatcher measures how long calls take. Default false. */
  readonly isMeasured?: boolean
  /** The next DPoP nonce, for callers that send proofs (RFC 9449 § 9). */
  readonly nonce?: () => string
}

/** @returns a function that answers the call in a body */
export function createAnswerCall(
  { dispatcher, overTls = false, isMeasured = false, nonce }: RpcCallOptions,
  shedder: LoadShedder,
) {
  return function answerCall(response: ServerResponse, headers: GuardedHeaders, body: Buffer): void {
    if (!isUtf8(body)) {
      answer(response, dispatcher.refuse(new RpcError('parse_error', notUtf8(body))))
      return
    }
    if (headers.dpop !== undefined && nonce) response.setHeader('DPoP-Nonce', nonce())
    const context: CallContext = {
      authorization: headers.authorization,
      dpop: headers.dpop,
      host: headers.host!,
      method: 'POST',
      path: pathOf(response.req),
      overTls,
      socket: response.req.socket,
      request: response.req,
      begunAt: isMeasured ? performance.now() : 0,
    }
    const text = inRequest(response, () => dispatcher.dispatch(body.toString(), context, body.length))
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
}

function notUtf8(body: Buffer): string {
  const mark = body.subarray(0, 2).toString('hex')
  const isUtf16 = mark === 'fffe' || mark === 'feff'
  return `the body is not valid UTF-8${isUtf16 ? ': it begins with the byte order mark of UTF-16' : ''}`
}

/** @param text undefined: there were only notifications */
export function answer(response: ServerResponse, text: Answer): void {
  if (text === undefined) response.writeHead(204, { 'X-Request-Id': requestIdOf(response.req) }).end()
  else sendJson(response, 200, text)
}
