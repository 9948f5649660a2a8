import type { IdentityToken } from '@selvedge/client/function'
import type { FromFunction, Question, StorageChange, ToFunction } from '../control.ts'
import { createFrameReader, encodeFrame, subarray } from '../frames.ts'
import { chunkBytes } from '../storage-change.ts'
import { joined } from './bytes.ts'
import { type DenoConnection, deno } from './deno.ts'
import { decode, encode, OwnMap, parse, stringify } from './own.ts'

/** What the runtime sends that is no answer. */
export type Order =
  | Exclude<ToFunction, { done: number } | { failed: number } | { setLong: string }>
  | Extract<StorageChange, { setLong: string }>
  | { readonly source: Uint8Array }

export interface Channel {
  send(message: FromFunction): void
  /** Stores a change. Resolves once it is on the disk. */
  write(change: StorageChange): Promise<unknown>
  identify(audience: string): Promise<IdentityToken>
}

/** The line to the runtime. It ends with the runtime, and this program with it. */
export function openChannel(connection: DenoConnection, onOrder: (order: Order) => void): Channel {
  const waiting = new OwnMap<number, PromiseWithResolvers<unknown>>()
  let last = 0
  let isSending = false
  const unsent: Uint8Array[] = []
  /** Bytes of a long value that arrived before its name. */
  let long: Uint8Array[] = []

  function put(frame: Uint8Array): void {
    unsent[unsent.length] = frame
    if (!isSending) void sendAll()
  }

  async function sendAll(): Promise<void> {
    isSending = true
    for (let next = 0; next < unsent.length; next++) {
      const frame = unsent[next]!
      for (let at = 0; at < frame.length; ) at += await connection.write(subarray(frame, at, frame.length))
    }
    unsent.length = 0
    isSending = false
  }

  const send = (message: FromFunction) => put(encodeFrame('message', encode(stringify(message))))

  function ask(question: Question): Promise<unknown> {
    const asked = Promise.withResolvers<unknown>()
    waiting.set(question.ask, asked)
    send(question)
    return asked.promise
  }

  function onMessage(message: ToFunction): void {
    if ('done' in message || 'failed' in message) {
      const id = 'done' in message ? message.done : message.failed
      const asked = waiting.get(id)
      waiting.delete(id)
      if ('done' in message) asked?.resolve(message.value)
      else asked?.reject(new Error(message.reason))
    } else if ('setLong' in message) {
      onOrder({ ...message, value: joined(long) })
      long = []
    } else onOrder(message)
  }

  async function listen(): Promise<void> {
    const read = createFrameReader(Number.POSITIVE_INFINITY)
    const buffer = new Uint8Array(65_536)
    for (;;) {
      const count = await connection.read(buffer)
      if (count === null) return
      const frames = read(subarray(buffer, 0, count))
      for (let at = 0; at < frames.length; at++) {
        const { kind, payload } = frames[at]!
        if (kind === 'message') onMessage(parse(decode(payload)) as ToFunction)
        else if (kind === 'source') onOrder({ source: payload })
        else long[long.length] = payload
      }
    }
  }
  listen().finally(() => deno.exit(0))

  return {
    send,
    write(change) {
      const id = ++last
      if (!('setLong' in change)) return ask({ ...change, ask: id })
      const { value, ...named } = change
      for (let at = 0; at < value.length; at += chunkBytes)
        put(encodeFrame('bytes', subarray(value, at, at + chunkBytes)))
      return ask({ ...named, ask: id })
    },
    // The runtime, which started this program, answers with one.
    identify: (audience) => ask({ identify: audience, ask: ++last }) as Promise<IdentityToken>,
  }
}
