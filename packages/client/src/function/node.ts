/**
 * Web frameworks for `node:http` as module workers: express, fastify, koa and others run as they are. Each request is HTTP on a connection in memory
 * between a client and a server of `node:http`, so an app meets what it meets on a socket: no port and no socket is used.
 *
 * @module
 */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Worker, WorkerContext } from './worker.ts'

/** They are loaded when they are needed: that is a good part of the start of a function. */
const http = () => process.getBuiltinModule('node:http')
const streams = () => process.getBuiltinModule('node:stream')

/** The headers of a request, and of an answer. */
const maxHeaderBytes = 64 * 1024

/** What concerns one connection (RFC 9110, section 7.6.1), and is not passed on in either direction. */
const ofConnection = new Set(
  'connection keep-alive proxy-connection te trailer transfer-encoding upgrade expect'.split(' '),
)
/** Statuses of answers without content (Fetch standard, null body status). */
const withoutBody = new Set([204, 205, 304])

/** A function that answers requests of `node:http`: an express app, `app.callback()` of koa, or your own. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => unknown

/** A server of `node:http`: its listeners of `request` answer. */
interface ServerLike {
  rawListeners(event: 'request'): unknown[]
}

/** fastify, and what has its methods. */
interface FastifyLike {
  ready(): PromiseLike<unknown>
  routing(request: IncomingMessage, response: ServerResponse): void
}

/** koa. */
interface KoaLike {
  callback(): NodeListener
}

export type NodeApp = NodeListener | FastifyLike | KoaLike | ServerLike

/** What the worker got with a request. */
export interface NodeCall {
  readonly request: Request
  readonly env: Readonly<Record<string, string | undefined>>
  readonly ctx: WorkerContext
}

interface Call extends NodeCall {
  /** @param cause what the app threw */
  fail(cause: unknown): void
}

/** Where the app's end of a connection has its call: one name for each copy of this module, the one of the platform too. */
const callKey = Symbol.for('selvedge.call')

const callAt = (connection: unknown): Call | undefined =>
  (connection as { [callKey]?: Call } | null | undefined)?.[callKey]

/**
 * The request, the values and the context of the worker for a request of its app: `req` of express, `request.raw` of fastify, `ctx.req` of koa.
 *
 * @throws TypeError for any other object
 *
 * @example
 * ```ts
 * import { callOf, type NodeListener } from '@selvedge/client/function/node'
 *
 * export const count: NodeListener = (request, response) => {
 *   const { storage } = callOf(request).ctx
 *   storage.setItem('count', String(Number(storage.getItem('count')) + 1))
 *   response.end(storage.getItem('count'))
 * }
 * ```
 */
export function callOf(request: IncomingMessage): NodeCall {
  const call = callAt(request?.socket)
  if (call === undefined)
    throw new TypeError('this request did not come to this function: give the request of node:http')
  return call
}

/**
 * Makes an app for `node:http` a module worker. Bodies are streams in both directions, and each side waits for the other. A caller that leaves closes the
 * connection of the app. What the app throws is the failure of the request: it is in the log, and the caller gets the status 500. Trailers are dropped,
 * and an upgrade reaches no app. The address of the caller is in `X-Forwarded-For`; `remoteAddress` is always 127.0.0.1.
 *
 * @param app a listener, an express or koa app, a fastify instance, or an `http.Server` that does not listen
 * @throws TypeError for anything else
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { toWorker } from '@selvedge/client/function/node'
 *
 * export default toWorker(createServer((request, response) => response.end(`hello ${request.url}`)))
 * ```
 */
export function toWorker(app: NodeApp): Worker & Required<Pick<Worker, 'fetch'>> {
  const { prepare, listener } = listenerOf(app)
  const server = http().createServer({ maxHeaderSize: maxHeaderBytes }, (request, response) => {
    const fail = (cause: unknown) => callAt(request.socket)?.fail(cause)
    try {
      Promise.resolve(listener(request, response)).catch(fail)
    } catch (cause) {
      fail(cause)
    }
  })
  return {
    async fetch(request, env, ctx) {
      await prepare()
      return answer({ request, env, ctx }, (connection) => server.emit('connection', connection))
    },
  }
}

const nothing = () => undefined

interface Listening {
  /** Resolves when the app can answer. It may be called for each request. */
  prepare(): unknown
  readonly listener: NodeListener
}

function listenerOf(app: NodeApp): Listening {
  if (typeof app === 'function') return { prepare: nothing, listener: app }
  const given = Object(app) as Partial<FastifyLike & KoaLike & ServerLike>
  if (typeof given.ready === 'function' && typeof given.routing === 'function') {
    const fastify = app as FastifyLike
    return {
      prepare: () => fastify.ready(),
      listener: (request, response) => fastify.routing(request, response),
    }
  }
  if (typeof given.callback === 'function') return { prepare: nothing, listener: given.callback() }
  if (typeof given.rawListeners === 'function')
    return { prepare: nothing, listener: callListeners(app as ServerLike) }
  throw new TypeError(
    `toWorker() got ${app === null ? 'null' : typeof app}: give a function (request, response), an express or koa app, a fastify instance, or an http.Server`,
  )
}

/** Calls each listener itself, where `emit` would lose what an asynchronous one rejects with. */
const callListeners =
  (server: ServerLike): NodeListener =>
  (...given) => {
    const listeners = server.rawListeners('request') as NodeListener[]
    if (listeners.length === 0) throw new Error('the server has no listener of "request"')
    return Promise.all(listeners.map((each) => Reflect.apply(each, server, given)))
  }

/** One request over a connection of its own. @param accept gives the server its end of the connection */
function answer(call: NodeCall, accept: (connection: Duplex) => void): Promise<Response> {
  const { request } = call
  const { signal } = request
  const { own, apps } = connect(new URL(request.url).protocol === 'https:')
  return new Promise((resolve, reject) => {
    let isAnswered = false
    const fail = (cause: unknown) => {
      if (isAnswered) console.error(cause)
      reject(cause)
      own.destroy()
    }
    const leave = () => {
      reject(signal.reason)
      own.destroy()
    }
    Object.defineProperty(apps, callKey, { value: { ...call, fail } satisfies Call })
    if (signal.aborted) return leave()
    signal.addEventListener('abort', leave, { once: true })
    own.once('close', () => signal.removeEventListener('abort', leave))
    accept(apps)
    try {
      const outgoing = requestOf(request, own)
      outgoing.on('error', (cause) => {
        // An app that does not read a body may close the connection after its answer.
        if (!isAnswered) reject(cause)
      })
      outgoing.on('response', (incoming) => {
        try {
          resolve(responseOf(request.method, incoming, own))
          isAnswered = true
        } catch (cause) {
          fail(cause)
        }
      })
      sendBody(request, outgoing)
    } catch (cause) {
      fail(cause)
    }
  })
}

/** Two ends in memory: when one is closed, so is the other. */
function connect(isEncrypted: boolean): { own: Duplex; apps: Duplex } {
  const [own, apps] = streams().duplexPair()
  for (const [end, other] of [
    [own, apps],
    [apps, own],
  ] as const) {
    end.on('error', nothing)
    end.once('close', () => other.destroy())
  }
  const itself = () => apps
  // What frameworks read and call of a socket.
  Object.assign(apps, {
    remoteAddress: '127.0.0.1',
    remoteFamily: 'IPv4',
    remotePort: 0,
    encrypted: isEncrypted,
    address: () => ({}),
    setTimeout: itself,
    setNoDelay: itself,
    setKeepAlive: itself,
    ref: itself,
    unref: itself,
  })
  return { own, apps }
}

function requestOf({ method, url, headers }: Request, own: Duplex): ClientRequest {
  const { host, pathname, search } = new URL(url)
  const outgoing = http().request({
    method,
    path: pathname + search,
    maxHeaderSize: maxHeaderBytes,
    setHost: false,
    createConnection: () => own,
  })
  outgoing.setHeader('host', headers.get('host') ?? host)
  headers.forEach((value, name) => {
    if (!ofConnection.has(name)) outgoing.setHeader(name, value)
  })
  return outgoing
}

/** A body that is longer or shorter than its announced length would be read as the next request, or never end. */
function sendBody({ body, headers }: Request, outgoing: ClientRequest): void {
  const announced = headers.get('content-length')
  if (body === null) {
    if (announced !== null) outgoing.setHeader('content-length', '0')
    outgoing.end()
    return
  }
  const { Readable, pipeline } = streams()
  const source = Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0])
  // What fails here has closed the connection, which is what the response reports.
  pipeline(source, checkLength(announced === null ? undefined : Number(announced)), outgoing, nothing)
}

function checkLength(announced: number | undefined) {
  return async function* check(chunks: AsyncIterable<Uint8Array>) {
    let length = 0
    for await (const chunk of chunks) {
      length += chunk.length
      if (announced !== undefined && length > announced)
        throw new Error(`the body is longer than its announced ${announced} bytes`)
      yield chunk
    }
    if (announced !== undefined && length !== announced)
      throw new Error(`the body has ${length} bytes, and not its announced ${announced}`)
  }
}

/** @throws RangeError for a status that a Response cannot have */
function responseOf(method: string, incoming: IncomingMessage, own: Duplex): Response {
  const status = incoming.statusCode ?? 0
  const headers = new Headers()
  const { rawHeaders } = incoming
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (!ofConnection.has(name.toLowerCase())) headers.append(name, rawHeaders[at + 1]!)
  }
  if (status < 200 || status > 599)
    throw new RangeError(`the app answered with the status ${status}: give one from 200 to 599`)
  const init = { status, statusText: incoming.statusMessage ?? '', headers }
  if (method === 'HEAD' || withoutBody.has(status)) {
    incoming.resume()
    return new Response(null, init)
  }
  return new Response(bodyOf(incoming, own), init)
}

/** The app is read no faster than the caller reads. A caller that leaves closes the connection. */
function bodyOf(incoming: IncomingMessage, own: Duplex): ReadableStream<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = incoming[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: () => void own.destroy(),
    },
    { highWaterMark: 0 },
  )
}
