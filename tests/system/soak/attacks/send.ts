/** What hostile callers do to a port: send requests, and hold connections. Bounded in number, from an address of their own. */
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type Counts, readPlan } from '../plan.ts'

export const plan = readPlan()
export const counts: Counts = {}
const count = (name: string) => {
  counts[name] = (counts[name] ?? 0) + 1
}
const from = '127.0.0.2'
/** Connections that are held open at once. */
const maxHeld = 100
const held = new Set<Socket>()

/** How many times a second, and what. */
export type Attack = readonly [perSecond: number, attack: () => void]

export const bearer = { Authorization: `Bearer ${plan.token}` }
export const json = { 'Content-Type': 'application/json' }
export const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
export const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!

interface Sent {
  readonly name: string
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

export function send({ name, url, method = 'POST', headers = {}, body }: Sent): void {
  const asked = request(
    url,
    { method, headers, agent: false, timeout: 60_000, localAddress: from },
    (response) => {
      response.resume()
      response.on('end', () => count(`${name} ${response.statusCode}`))
      response.on('error', () => count(`${name} cut off`))
    },
  )
  asked.on('timeout', () => asked.destroy(new Error('no answer in 60 s')))
  asked.on('error', (cause: NodeJS.ErrnoException) => count(`${name} ${cause.code ?? cause.message}`))
  asked.end(body)
}

/** A connection that says something and then does nothing more, or drips. */
export function hold(name: string, port: number, text: string | Buffer, drip?: string): void {
  if (held.size >= maxHeld) return
  const socket = connect({ port, host: '127.0.0.1', localAddress: from })
  held.add(socket)
  socket.pause()
  socket.write(text)
  const dripping = drip === undefined ? undefined : setInterval(() => socket.write(drip), 1000)
  const end = setTimeout(() => socket.destroy(), 45_000)
  socket.on('error', () => undefined)
  socket.on('close', () => {
    held.delete(socket)
    clearInterval(dripping)
    clearTimeout(end)
    count(`${name} ended`)
  })
}

/** Sends a request and resets the connection at once: the client does not wait for the answer. */
export function leave(
  name: string,
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body = '',
): void {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress: from })
  const length = { 'Content-Length': String(Buffer.byteLength(body)) }
  socket.write(headOf(url, method, { ...headers, ...length }) + body, () => socket.resetAndDestroy())
  socket.on('error', () => undefined)
  socket.on('close', () => count(`${name} left`))
}

/** The first lines of a request to a URL. */
export function headOf(url: string, method: string, headers: Readonly<Record<string, string>> = {}): string {
  const { host, pathname, search } = new URL(url)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\n${lines.join('')}\r\n`
}

/** Sends a request, reads nothing of the answer, and holds the connection. */
export const neverRead = (
  name: string,
  url: string,
  headers: Readonly<Record<string, string>> = {},
  times = 1,
): void => hold(name, Number(new URL(url).port), headOf(url, 'GET', headers).repeat(times))
