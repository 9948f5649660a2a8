import { createLineReader, type FromFunction, type ToFunction } from '../control.ts'
import { deno } from './deno.ts'

type Order = Exclude<ToFunction, { done: number } | { failed: number }>

export interface Channel {
  send(message: FromFunction): void
  /** Sends a message that is answered. */
  ask(message: (id: number) => FromFunction): Promise<unknown>
}

/** The line to the runtime. It ends with the runtime, and this program with it. */
export async function openChannel(path: string, onOrder: (order: Order) => void): Promise<Channel> {
  const connection = await deno.connect({ transport: 'unix', path })
  const encoder = new TextEncoder()
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (cause: Error) => void }>()
  let last = 0
  let sending: Promise<unknown> = Promise.resolve()

  const send = (message: FromFunction): void => {
    const bytes = encoder.encode(`${JSON.stringify(message)}\n`)
    sending = sending.then(async () => {
      for (let at = 0; at < bytes.length; ) at += await connection.write(bytes.subarray(at))
    })
  }

  const readLine = createLineReader((line) => {
    const message = JSON.parse(line) as ToFunction
    if ('done' in message) {
      waiting.get(message.done)?.resolve(message.value)
      waiting.delete(message.done)
    } else if ('failed' in message) {
      waiting.get(message.failed)?.reject(new Error(message.reason))
      waiting.delete(message.failed)
    } else onOrder(message)
  })
  const listen = async () => {
    const decoder = new TextDecoder()
    for await (const chunk of connection.readable) readLine(decoder.decode(chunk, { stream: true }))
  }
  listen().finally(() => deno.exit(0))

  return {
    send,
    ask: (message) =>
      new Promise((resolve, reject) => {
        const id = ++last
        waiting.set(id, { resolve, reject })
        send(message(id))
      }),
  }
}
