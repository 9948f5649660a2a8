/** One WebSocket with JSON-RPC: each message is a request or a batch, and its answer is a message. */
import type { Socket } from 'node:net'
import type { Answer, Dispatcher } from '@selvedge/protocol/jsonrpc'
import type { WebSocket } from 'ws'
import { smallBody } from '../http/body.ts'
import type { LoadShedder } from '../http/load-shedder.ts'
import type { CallContext } from '../http/rpc-call.ts'
import type { RpcConnection } from '../http/rpc-connection.ts'
import { safely } from '../safely/safely.ts'
import { createWorkCount, type EndWork } from '../work/work-count.ts'
import { IncomingBytes } from './incoming-bytes.ts'
import { IncomingLarge, type LargeMessages } from './large-messages.ts'
import { maxFramingBytes, type SocketLimits } from './socket-limits.ts'

/** What all sockets share. */
export interface RpcSocketParts {
  readonly dispatcher: Dispatcher<CallContext>
  readonly isMeasured: boolean
  readonly shedder: LoadShedder
  readonly oneATurn: (work: () => void) => void
  readonly limits: SocketLimits
  readonly large: LargeMessages<RpcSocket>
  /** Called with each message. */
  readonly onUse: (socket: RpcSocket) => void
  readonly onCaller: (socket: RpcSocket, caller: string | undefined) => void
  readonly onClosed: (socket: RpcSocket) => void
}

/** What all calls of a socket have: the headers are those of its handshake. */
export type SocketContext = Omit<CallContext, 'begunAt' | 'connection' | 'isBusy'>

/** Status codes of a close frame (RFC 6455 § 7.4.1). */
const closeCodes = { goingAway: 1001, unsupported: 1003, policy: 1008, tryAgainLater: 1013 } as const

/** A message that has arrived. */
interface Message {
  readonly data: Buffer
  /** Ends the reservation of a large one. */
  readonly release: EndWork | undefined
}

interface Check {
  /** Number of the last write that was complete while others waited for the client. */
  readonly unsentAfter: number | undefined
  /** What had been read when a ping was sent. */
  readonly ping: { readonly total: number; readonly incomplete: number | undefined } | undefined
}

export class RpcSocket implements RpcConnection {
  readonly #ws: WebSocket
  readonly #socket: Socket
  readonly #context: SocketContext
  readonly #parts: RpcSocketParts
  readonly #incoming = new IncomingBytes()
  readonly #incomingLarge: IncomingLarge<RpcSocket>
  readonly #onFlushed: () => void
  readonly #calls = createWorkCount()
  /** Messages that were read before the connection was paused. */
  readonly #waiting: Message[] = []
  #isNextScheduled = false
  #isLastCall = false
  #isClosed = false
  #ends: Set<() => void> | undefined
  #flushes = 0
  /** What the last check found; while the connection was not read, no ping was sent. */
  #checked: Check = { unsentAfter: undefined, ping: undefined }

  constructor(ws: WebSocket, context: SocketContext, parts: RpcSocketParts) {
    this.#ws = ws
    this.#socket = context.socket
    this.#context = context
    this.#parts = parts
    this.#incomingLarge = new IncomingLarge(parts.large)
    this.#onFlushed = safely('websocket.flushed', () => this.#flushed(), this.terminate)
    this.#listen()
  }

  readonly terminate = (): void => this.#ws.terminate()

  #listen(): void {
    const ws = this.#ws
    const incoming = this.#incoming
    const { terminate } = this
    const onControl = (data: Buffer) => {
      incoming.controlFrame(data.length)
      if (incoming.incomplete === undefined) this.#incomingLarge.release()
    }
    this.#socket.on(
      'data',
      safely('websocket.data', (piece: Buffer) => this.#onRead(piece.length), terminate),
    )
    this.#socket.once(
      'close',
      safely('websocket.closed', () => this.#onClosed()),
    )
    ws.on(
      'message',
      safely(
        'websocket.message',
        (data: Buffer, isBinary: boolean) => this.#onMessage(data, isBinary),
        terminate,
      ),
    )
    ws.on('ping', safely('websocket.ping', onControl, terminate))
    ws.on('pong', safely('websocket.pong', onControl, terminate))
    // The library closes the connection with the code of the error.
    ws.on('error', () => undefined)
  }

  // A connection for notifications.

  get unsentBytes(): number {
    return this.#ws.bufferedAmount
  }

  send(text: string): boolean {
    if (!this.#isOpen || this.unsentBytes > this.#parts.limits.unsentNotificationBytes) return false
    this.#ws.send(text, this.#onFlushed)
    return true
  }

  onEnd(callback: () => void): () => void {
    const guarded = safely('websocket.end', callback)
    this.#ends ??= new Set()
    if (this.#isClosed) setImmediate(guarded)
    else this.#ends.add(guarded)
    return () => {
      this.#ends?.delete(guarded)
    }
  }

  setCaller(caller: string | undefined): void {
    if (!this.#isClosed) this.#parts.onCaller(this, caller)
  }

  // For the set of all connections.

  get #isOpen(): boolean {
    return this.#ws.readyState === this.#ws.OPEN
  }

  /** Whether no call is under way. */
  get isIdle(): boolean {
    return this.#calls.underWay === 0 && this.#waiting.length === 0
  }

  /** Whether a large message has begun to arrive. */
  get isReceivingLarge(): boolean {
    return this.#incomingLarge.isReserved
  }

  /** Ends the connection with a close frame; the client has a moment to answer it. */
  end(code: number, reason: string): void {
    this.#dropMessages()
    this.#ws.close(code, reason)
    // The close frame of the client is behind what it has sent before, which is dropped.
    this.#ws.resume()
  }

  /** Ends the connection at once; the close frame arrives if the client has read everything before it. */
  evict(reason: string): void {
    const isRead = this.unsentBytes === 0
    this.end(closeCodes.tryAgainLater, reason)
    if (isRead) this.#socket.destroySoon()
    else this.terminate()
  }

  /** Ends the connection after the answers to what was received. */
  endAfterAnswers(): void {
    this.#isLastCall = true
    this.#endIfLast()
  }

  /** Finds a client that is gone, reads nothing or does not complete its message; and sends a ping. */
  check(): void {
    const { total, incomplete } = this.#incoming
    const before = this.#checked
    const unsentAfter = this.unsentBytes > 0 ? this.#flushes : undefined
    const canAnswer = this.#isOpen && !this.#ws.isPaused
    this.#checked = { unsentAfter, ping: canAnswer ? { total, incomplete } : undefined }
    if (unsentAfter !== undefined && before.unsentAfter === unsentAfter) this.terminate()
    else if (!canAnswer) return
    else if (before.ping?.total === total) this.terminate()
    else if (incomplete !== undefined && before.ping?.incomplete === incomplete)
      this.end(closeCodes.policy, 'the message did not arrive in time')
    else this.#ws.ping('', false, this.#onFlushed)
  }

  // What arrives.

  #onRead(bytes: number): void {
    const incoming = this.#incoming
    const { limits } = this.#parts
    incoming.read(bytes)
    // What resumed it was something else, such as the end of its rest in an overload.
    if (this.#ws.isPaused) this.#socket.pause()
    if (!this.#isOpen || incoming.sinceMessage <= smallBody) return
    if (incoming.sinceMessage > limits.messageBytes + maxFramingBytes)
      this.end(closeCodes.policy, 'a message with too many frames')
    else if (!this.#incomingLarge.reserve(this)) this.#refuseLarge()
  }

  #refuseLarge(): void {
    this.end(closeCodes.tryAgainLater, 'too many large messages at once; send it again in a moment')
  }

  #onMessage(data: Buffer, isBinary: boolean): void {
    this.#incoming.messageEnded()
    const isRead = this.#isOpen && !this.#isLastCall
    if (isRead) this.#parts.onUse(this)
    if (isRead && isBinary) this.end(closeCodes.unsupported, 'send JSON as text messages')
    if (!isRead || isBinary || data.length <= smallBody) this.#incomingLarge.release()
    if (!isRead || isBinary) return
    // The first bytes of a large one may have come with the end of the message before.
    if (data.length > smallBody && !this.#incomingLarge.reserve(this)) this.#refuseLarge()
    else this.#accept({ data, release: this.#incomingLarge.handOver() })
  }

  #accept(message: Message): void {
    if (this.#waiting.length === 0 && !this.#mustWait()) this.#begin(message)
    else this.#wait(message)
  }

  /** Messages that were read before the connection was paused wait. */
  #wait(message: Message): void {
    if (this.#waiting.length >= this.#parts.limits.waitingMessages) {
      message.release?.()
      this.end(closeCodes.tryAgainLater, 'too many calls wait for their answers')
      return
    }
    this.#waiting.push(message)
    this.#ws.pause()
    this.#scheduleNext()
  }

  #mustWait(): boolean {
    const { callsUnderWay, unsentBytes } = this.#parts.limits
    return this.#calls.underWay >= callsUnderWay || this.unsentBytes > unsentBytes
  }

  #begin({ data, release }: Message): void {
    const endCall = this.#calls.begin()
    const end = () => {
      endCall()
      release?.()
    }
    if (data.length <= smallBody) this.#call(data, end)
    else this.#parts.oneATurn(safely('websocket.call', () => this.#call(data, end), this.terminate))
  }

  #call(data: Buffer, end: EndWork): void {
    // Its client may have gone while it waited for its turn.
    if (!this.#isOpen) {
      end()
      return
    }
    const context: CallContext = {
      ...this.#context,
      begunAt: this.#parts.isMeasured ? performance.now() : 0,
      connection: this,
    }
    const fail = (cause: unknown) => {
      end()
      throw cause
    }
    const send = (ready: Answer) => {
      end()
      this.#answered(context, ready)
    }
    const answer = this.#dispatch(data, context, fail)
    if (answer instanceof Promise)
      answer.then(
        safely('websocket.answer', send, this.terminate),
        safely('websocket.answer', fail, this.terminate),
      )
    else send(answer)
  }

  #dispatch(data: Buffer, context: CallContext, fail: (cause: unknown) => never): Answer | Promise<Answer> {
    try {
      return this.#parts.dispatcher.dispatch(data.toString(), context, data.length)
    } catch (cause) {
      return fail(cause)
    }
  }

  /** Those that wait, and the one that arrives. */
  #dropMessages(): void {
    this.#incomingLarge.release()
    for (const { release } of this.#waiting.splice(0)) release?.()
  }

  #answered(context: CallContext, text: Answer): void {
    if (text !== undefined && this.#isOpen) this.#ws.send(text, this.#onFlushed)
    if (context.isBusy) this.#parts.shedder.wasRefused(this.#socket)
    this.#endIfLast()
    this.#scheduleNext()
  }

  #flushed(): void {
    this.#flushes++
    this.#scheduleNext()
  }

  /** One message a turn of the event loop: other connections come between. */
  #scheduleNext(): void {
    if (this.#isNextScheduled || !this.#ws.isPaused || this.#mustWait()) return
    this.#isNextScheduled = true
    setImmediate(safely('websocket.next', () => this.#next(), this.terminate))
  }

  #next(): void {
    this.#isNextScheduled = false
    if (!this.#isOpen) return
    const message = this.#waiting.shift()
    if (message) this.#begin(message)
    if (this.#waiting.length > 0) this.#scheduleNext()
    else if (!this.#mustWait()) this.#ws.resume()
  }

  #endIfLast(): void {
    if (this.#isLastCall && this.isIdle) this.end(closeCodes.goingAway, 'the runtime stops')
  }

  #onClosed(): void {
    const ends = this.#ends
    this.#isClosed = true
    this.#ends = undefined
    this.#dropMessages()
    this.#parts.onClosed(this)
    for (const end of ends ?? []) end()
  }
}
