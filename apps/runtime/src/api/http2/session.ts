/**
 * A connection that speaks HTTP/2: each of its streams is served as a connection of HTTP/1.1. The limits here are those that one
 * connection of HTTP/1.1 has by itself: streams at a time, bytes of headers, and work that a client requests and then drops.
 */
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { Http2Connection, Http2Options, OpenHttp2 } from '@selvedge/service-kit/http'
import { safely } from '@selvedge/service-kit/safely'
import { createWorkCount } from '@selvedge/service-kit/work'
import { outliveStream } from '../../services/engines/http2-lifetime.ts'
import { type BudgetSettings, createBudget } from './budget.ts'
import { BadRequest, requestHeadOf } from './request-head.ts'
import { StreamSocket } from './stream-socket.ts'

export interface SessionLimits {
  /** Streams that a client may have open at a time. */
  readonly streams: number
  /** Bytes of the headers of a request, as HTTP/2 counts them (RFC 9113 § 6.5.2), and their number. */
  readonly headerBytes: number
  readonly headers: number
  /** Bytes of a body that a client may send before they are read. */
  readonly windowBytes: number
  /** Streams that end without their whole answer: reset by the client, or for what it sent (CVE-2023-44487, CVE-2025-8671). */
  readonly dropped: BudgetSettings
  /** PING and SETTINGS. Libraries of gRPC measure with PING while data comes. */
  readonly control: BudgetSettings
  /** Milliseconds without a stream after which the connection closes. */
  readonly idleMs: number
  /** Milliseconds for the client to close a connection that was closed. */
  readonly closeMs: number
}

export const sessionLimits: SessionLimits = {
  streams: 100,
  headerBytes: 16 * 1024,
  headers: 128,
  windowBytes: 32 * 1024,
  dropped: { burst: 200, perSecond: 50 },
  control: { burst: 2000, perSecond: 500 },
  idleMs: 30_000,
  closeMs: 2000,
}

/** Error codes of RFC 9113 § 7. */
const codes = { enhanceYourCalm: 11 } as const
/** A flag of a HEADERS frame (§ 6.2): no body follows. */
const endStream = 1

/** Node's own limits of frames that are invalid, and of acknowledgements that wait, are on as well. */
const settingsOf = (limits: SessionLimits) => ({
  maxHeaderListPairs: limits.headers + 4,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  streamResetBurst: limits.dropped.burst * 2,
  streamResetRate: limits.dropped.perSecond * 2,
  // What a stream repeats is refused later, with a sentence.
  strictSingleValueFields: false,
  settings: {
    maxConcurrentStreams: limits.streams,
    maxHeaderListSize: limits.headerBytes,
    initialWindowSize: limits.windowBytes,
    enablePush: false,
    enableConnectProtocol: false,
  },
})

/** @param now gives monotonic milliseconds */
export const createOpenHttp2 =
  (limits: SessionLimits = sessionLimits, now: () => number = () => performance.now()): OpenHttp2 =>
  (socket, options) =>
    new Session(socket, options, limits, now)

class Session implements Http2Connection {
  readonly #socket: Socket
  readonly #options: Http2Options
  readonly #limits: SessionLimits
  readonly #session: ServerHttp2Session
  readonly #open = createWorkCount()
  /** Streams that came while the session rests: at most `streams`. */
  #waiting: (() => void)[] | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosing = false

  constructor(socket: Socket, options: Http2Options, limits: SessionLimits, now: () => number) {
    this.#socket = socket
    this.#options = options
    this.#limits = limits
    // Loaded with the first client that speaks it.
    const http2 = process.getBuiltinModule('node:http2')
    const session = http2.performServerHandshake(socket, settingsOf(limits))
    this.#session = session
    const dropped = createBudget(limits.dropped, now)
    const control = createBudget(limits.control, now)
    const spendControl = safely('http2.control', () => {
      if (!control.spend()) this.#refuseAll()
    })
    const onStream = (
      stream: ServerHttp2Stream,
      _headers: object,
      flags: number,
      raw: readonly string[] = [],
    ) => {
      outliveStream(session, stream)
      stream.on('error', () => undefined)
      const end = this.#open.begin()
      clearTimeout(this.#timer)
      let connection: StreamSocket | undefined
      const onClose = () => {
        end()
        if (!connection?.isAnswered && !dropped.spend()) this.#refuseAll()
        this.#whenIdle()
      }
      stream.on('close', safely('http2.close', onClose))
      const begin = () => {
        connection = this.#begin(stream, raw, (flags & endStream) !== 0)
      }
      if (this.#waiting) this.#waiting.push(begin)
      else begin()
    }
    const destroy = () => socket.destroy()
    session.on('error', () => undefined)
    session.on(
      'stream',
      safely('http2.stream', onStream, (_cause, stream) => stream.destroy()),
    )
    session.on('ping', spendControl)
    session.on('remoteSettings', spendControl)
    socket.on(
      'close',
      safely('http2.session-close', () => clearTimeout(this.#timer)),
    )
    // A client that closes its half of the connection is gone, and so are its streams: no frame reports it.
    socket.on('end', destroy)
    this.#whenIdle()
  }

  readonly isIdle = (): boolean => this.#open.underWay === 0

  get destroyed(): boolean {
    return this.#socket.destroyed
  }

  close(): void {
    this.#isClosing = true
    if (!this.#session.closed) this.#session.close()
    this.#whenIdle()
  }

  pause(): void {
    this.#waiting ??= []
  }

  resume(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    const resume = safely('http2.resume', (begin: () => void) => begin())
    for (const begin of waiting) resume(begin)
  }

  /** Serves a stream. @returns its connection, if it has one */
  #begin(stream: ServerHttp2Stream, raw: readonly string[], isComplete: boolean): StreamSocket | undefined {
    if (stream.destroyed || stream.closed) return undefined
    try {
      const head = requestHeadOf(raw, isComplete)
      if (head.expectsContinue) stream.additionalHeaders({ ':status': 100 })
      const isHead = head.text.startsWith('HEAD ')
      const connection = new StreamSocket(stream, head, { socket: this.#socket, isHead })
      this.#options.serve(connection, this)
      if (this.#options.isDraining()) this.close()
      return connection
    } catch (cause) {
      if (!(cause instanceof BadRequest)) throw cause
      refuse(stream, cause.message)
      return undefined
    }
  }

  /** Ends the connection of a client that wastes what it requests. */
  #refuseAll(): void {
    const refuse = () => {
      if (!this.#session.destroyed)
        this.#session.destroy(new Error('its client wastes what it requests'), codes.enhanceYourCalm)
    }
    // Later: the library may be in the middle of what it has read, and would abort the process.
    setImmediate(safely('http2.refuse-all', refuse))
  }

  /** Without a stream, the connection closes after some time, or soon if it is closing. */
  #whenIdle(): void {
    clearTimeout(this.#timer)
    if (!this.isIdle() || this.#socket.destroyed) return
    const end = () => {
      if (this.#isClosing) this.#socket.destroy()
      else this.close()
    }
    const ms = this.#isClosing ? this.#limits.closeMs : this.#limits.idleMs
    this.#timer = setTimeout(safely('http2.idle', end), ms).unref()
  }
}

/** Answers a request that HTTP/1.1 cannot carry. */
function refuse(stream: ServerHttp2Stream, why: string): void {
  const message = `the request is malformed: ${why}`
  stream.respond({ ':status': 400, 'content-type': 'application/json' })
  stream.end(JSON.stringify({ error: { code: 400, message, reason: 'bad_request' } }))
  stream.resume()
}
