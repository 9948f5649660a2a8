/** The runtime's end of the control line. What arrives on it is as little trusted as the function itself. */
import { isUtf8 } from 'node:buffer'
import { createServer, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { safely } from '@selvedge/service-kit/safely'
import { shareRun } from '@selvedge/service-kit/share'
import type { FromFunction, Question, ScheduledEvent, StorageChange, ToFunction } from './control.ts'
import { parseMessage } from './control-message.ts'
import { createFrameReader, encodeFrame, type Frame, maxPayload, ProtocolError } from './frames.ts'
import { createScheduledRuns, type ScheduledRuns } from './scheduled-runs.ts'
import { chunkBytes } from './storage-change.ts'

/** Milliseconds in which a program that reacts at all answers a ping. */
const pingTimeoutMs = 1000
/** Milliseconds in which it stores what it wrote. */
const storeTimeoutMs = 5000
/** Bytes that may wait for a program that does not read, beside one longest value: another instance's changes, for example. */
const maxUnread = 8 * 1024 * 1024

/** A question with its value, as the runtime answers it. */
export type Asked = StorageChange | { readonly identify: string }

/** What the runtime sends on the line. Each resolves once the peer has room for more. */
export interface Sender {
  send(message: ToFunction): Promise<void>
  sendSource(bytes: Uint8Array): Promise<void>
  sendChange(change: StorageChange): Promise<void>
}

export interface ControlLine extends Sender {
  /** Whether the program answers, or waits for an answer of the runtime. */
  ping(): Promise<boolean>
  /** Notifies the program whether it may write to its storage. Resolves once what it wrote before is stored, or after some seconds. */
  mayWrite(isAllowed: boolean): Promise<void>
  /**
   * Sends an event. Resolves once the function has handled it.
   *
   * @throws Error with what the function failed with, or that the line closed
   */
  run(event: ScheduledEvent): Promise<void>
  close(): void
}

export interface ControlHandlers {
  onListening(line: Sender): void
  /** @param hasScheduled whether the function has a handler for `scheduled` */
  onReady(hasScheduled: boolean): void
  /** The function did not load. */
  onBroken(why: string): void
  /** @returns the value of the answer; a rejection is answered with its message */
  answer(question: Asked): Promise<unknown>
  /** The peer broke the protocol, and its connection was closed. */
  onViolation(why: string): void
  /** The peer closed the connection, as it does when it ends. */
  onClosed(): void
}

/**
 * Listens for the one connection of a host program. Frames are handled one after the other, each in a separate turn, and the
 * next is not read before the answer to the last one was: so a function has at most one question under way.
 *
 * @param maxValueBytes bytes of the longest value
 */
export async function openControlLine(
  path: string,
  maxValueBytes: number,
  handlers: ControlHandlers,
): Promise<ControlLine> {
  let connection: Socket | undefined
  let isOver = false
  const end = (why: string) => {
    if (isOver) return
    isOver = true
    connection?.destroy()
    handlers.onViolation(why)
  }
  const sender = createSender(maxValueBytes, () => connection, end)
  const pings = createPings()
  const runs = createScheduledRuns(sender.send)
  const receiver = createReceiver(sender, maxValueBytes, handlers, {
    onPong: pings.onPong,
    onRan: runs.onRan,
  })

  async function serve(socket: Socket): Promise<void> {
    await handleFrames(socket, receiver.handle).finally(runs.giveUp)
    if (!isOver) handlers.onClosed()
  }

  const server = createServer(
    safely(
      'function.control',
      (socket: Socket) => {
        // The first connection is the host program's.
        if (connection) {
          socket.destroy()
          return
        }
        connection = socket
        server.close()
        socket.on('error', () => socket.destroy())
        return serve(socket).catch((cause: Error) => {
          if (cause instanceof ProtocolError) end(`it broke the control protocol: ${cause.message}`)
          else if (!isOver && !socket.destroyed) throw cause
          else handlers.onClosed()
        })
      },
      () => end('the runtime failed to serve its control line'),
    ),
  )
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  return {
    ...sender,
    ping: async () => receiver.isAnswering() || pings.ping((ping) => sender.send({ ping }), pingTimeoutMs),
    async mayWrite(isAllowed) {
      if (!isOver) await pings.ping((ping) => sender.send({ ping, mayWrite: isAllowed }), storeTimeoutMs)
    },
    run: runs.run,
    close() {
      isOver = true
      pings.giveUp()
      runs.giveUp()
      server.close()
      connection?.destroy()
    },
  }
}

/** Resolves when the connection is closed. @throws ProtocolError, and what the connection fails with */
async function handleFrames(socket: Socket, handle: (frame: Frame) => Promise<void>): Promise<void> {
  const read = createFrameReader(maxPayload)
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    for (const frame of read(chunk)) {
      await handle(frame)
      await nextTurn()
      // Closed while a frame was handled: the frames after it are dropped.
      if (socket.destroyed) return
    }
    if (socket.destroyed) return
  }
}

function createSender(
  maxValueBytes: number,
  connection: () => Socket | undefined,
  end: (why: string) => void,
): Sender {
  const drained = shareRun(async () => {
    const socket = connection()
    if (socket) await untilDrained(socket)
  })

  async function write(frame: Uint8Array): Promise<void> {
    const socket = connection()
    if (!socket || socket.destroyed || socket.write(frame)) return
    if (socket.writableLength > maxUnread + maxValueBytes) {
      end(`it broke the control protocol: it left ${socket.writableLength} bytes unread`)
      return
    }
    await drained()
  }

  const send = (message: ToFunction) => write(encodeFrame('message', Buffer.from(JSON.stringify(message))))
  return {
    send,
    sendSource: (bytes) => write(encodeFrame('source', bytes)),
    async sendChange(change) {
      if (!('setLong' in change)) return send(change)
      // Together in one turn: the bytes of two changes must not mix.
      const waiting: Promise<void>[] = []
      for (let at = 0; at < change.value.length; at += chunkBytes)
        waiting.push(write(encodeFrame('bytes', change.value.subarray(at, at + chunkBytes))))
      const { value: _, ...named } = change
      waiting.push(send(named))
      await Promise.all(waiting)
    },
  }
}

function untilDrained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done)
      socket.off('close', done)
      resolve()
    }
    socket.on('drain', done)
    socket.on('close', done)
  })
}

function createReceiver(
  sender: Sender,
  maxValueBytes: number,
  handlers: ControlHandlers,
  { onPong, onRan }: { readonly onPong: (id: number) => void; readonly onRan: ScheduledRuns['onRan'] },
) {
  const collect = createCollector(maxValueBytes)
  let isAnswering = false
  /** What the program sends once, in this order. */
  let next: 'listening' | 'ready' | undefined = 'listening'

  function advance(
    message: Exclude<FromFunction, { ask: number } | { pong: number } | { ran: number }>,
  ): void {
    const expected = next
    if (expected === undefined || !(expected in message || ('broken' in message && expected === 'ready')))
      throw new ProtocolError('a message out of order')
    next = expected === 'listening' ? 'ready' : undefined
    if ('listening' in message) handlers.onListening(sender)
    else if ('ready' in message) handlers.onReady(message.scheduled === true)
    else handlers.onBroken(message.broken.slice(0, 500))
  }

  return {
    isAnswering: () => isAnswering,
    async handle(frame: Frame): Promise<void> {
      if (frame.kind === 'bytes') return collect.add(frame.payload)
      if (frame.kind === 'source') throw new ProtocolError('a frame of source')
      const message = parseMessage(frame.payload)
      if ('ask' in message) {
        isAnswering = true
        const value = 'setLong' in message ? collect.take() : undefined
        const answer = await answerOf(handlers, message, value)
        isAnswering = false
        await sender.send(answer)
      } else if ('pong' in message) onPong(message.pong)
      else if ('ran' in message) onRan(message.ran, message.failed)
      else advance(message)
    },
  }
}

async function answerOf(
  { answer }: ControlHandlers,
  question: Question,
  value: Uint8Array | undefined,
): Promise<ToFunction> {
  try {
    const asked = 'setLong' in question ? { ...question, value: value! } : question
    const given = await answer(asked)
    return { done: question.ask, ...(given !== undefined && { value: given }) }
  } catch (cause) {
    return { failed: question.ask, reason: (cause as Error).message }
  }
}

/** Collects the bytes of one long value. @param limit bytes of the longest value */
function createCollector(limit: number) {
  let chunks: Uint8Array[] = []
  let size = 0
  return {
    add(chunk: Uint8Array): void {
      const isShortInside = chunks.length > 0 && chunks.at(-1)!.length < chunkBytes
      size += chunk.length
      if (chunk.length === 0 || isShortInside)
        throw new ProtocolError('a long value in pieces of the wrong size')
      if (size > limit) throw new ProtocolError(`a value of more than ${limit} bytes`)
      chunks.push(chunk)
    },
    take(): Uint8Array {
      const value = Buffer.concat(chunks)
      chunks = []
      size = 0
      if (!isUtf8(value)) throw new ProtocolError('a value that is not UTF-8')
      return value
    },
  }
}

function createPings() {
  const waiting = new Map<number, (isAlive: boolean) => void>()
  let last = 0
  return {
    /** Whether it was answered in time. */
    ping: (send: (id: number) => Promise<void>, timeoutMs: number) =>
      new Promise<boolean>((resolve) => {
        const id = ++last
        const answer = (isAlive: boolean) => {
          clearTimeout(timer)
          waiting.delete(id)
          resolve(isAlive)
        }
        const timer = setTimeout(answer, timeoutMs, false)
        waiting.set(id, answer)
        send(id).catch(() => answer(false))
      }),
    /** Nothing answers any more. */
    giveUp(): void {
      for (const answer of waiting.values()) answer(false)
    },
    onPong(id: number): void {
      // A late answer to a ping that was given up is no mistake; one to a ping that was never sent is.
      if (id < 1 || id > last) throw new ProtocolError('an answer to a ping that was not sent')
      waiting.get(id)?.(true)
    },
  }
}
