/** The runtime's end of the line to a host program. What comes from there is as little trusted as the function itself. */
import { createServer, type Socket } from 'node:net'
import * as z from 'zod'
import { createLineReader, type FromFunction, type ToFunction } from './control.ts'

/** Milliseconds in which a program that reacts at all answers a ping. */
const pingPatience = 1000

const change = z.strictObject({
  set: z.record(z.string(), z.string()).optional(),
  remove: z.array(z.string()).optional(),
})

/** What a host program may say. Anything else ends the line, and with it the program. */
const fromFunction: z.ZodType<FromFunction> = z.union([
  z.strictObject({ ready: z.literal(true) }),
  z.strictObject({ broken: z.string() }),
  z.strictObject({ write: z.number(), change }),
  z.strictObject({ identify: z.number(), audience: z.string() }),
  z.strictObject({ pong: z.number() }),
]) as never

export interface ControlLine {
  send(message: ToFunction): void
  /** Whether the program answers. */
  ping(): Promise<boolean>
  close(): void
}

export interface ControlOptions {
  readonly path: string
  /** Most characters of one message. */
  readonly maxMessage: number
  readonly onConnected: (line: ControlLine) => void
  readonly onMessage: (message: Exclude<FromFunction, { pong: number }>, line: ControlLine) => void
}

/** Listens for the one connection of a host program. */
export async function openControlLine({
  path,
  maxMessage,
  onConnected,
  onMessage,
}: ControlOptions): Promise<ControlLine> {
  const pings = new Map<number, () => void>()
  let connection: Socket | undefined
  let lastPing = 0

  const line: ControlLine = {
    send: (message) => void connection?.write(`${JSON.stringify(message)}\n`),
    ping: () =>
      new Promise((resolve) => {
        const id = ++lastPing
        const answer = (alive: boolean) => {
          clearTimeout(timer)
          pings.delete(id)
          resolve(alive)
        }
        const timer = setTimeout(() => answer(false), pingPatience)
        pings.set(id, () => answer(true))
        line.send({ ping: id })
      }),
    close() {
      server.close()
      connection?.destroy()
    },
  }

  const server = createServer((socket) => {
    // The first is the program; a second would be the function itself, pretending.
    if (connection) return void socket.destroy()
    connection = socket
    server.close()
    let received = 0
    const read = createLineReader((text) => {
      received = 0
      let message: FromFunction
      try {
        message = fromFunction.parse(JSON.parse(text))
      } catch {
        return void socket.destroy()
      }
      if ('pong' in message) pings.get(message.pong)?.()
      else onMessage(message, line)
    })
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => {
      received += text.length
      if (received > maxMessage) socket.destroy()
      else read(text)
    })
    socket.on('error', () => socket.destroy())
    onConnected(line)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    // For the sandboxed user; the folder above it is the instance's own.
    const before = process.umask(0)
    server.listen(path, resolve)
    process.umask(before)
  })
  return line
}
