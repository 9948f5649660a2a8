/** Clients that leave: before their request is complete, while it is answered, and after the first bytes of the answer. */
import { connect, type Socket } from 'node:net'

/** When a client leaves. */
const moments = ['before', 'during', 'after'] as const
/** How it leaves: it closes, it resets the connection, or it sends no more and reads on. */
const departures = {
  FIN: (socket: Socket) => socket.destroy(),
  RST: (socket: Socket) => socket.resetAndDestroy(),
  'half-close': (socket: Socket) => socket.end(),
} as const

export interface Abandoned {
  /** `POST /path` */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Milliseconds after which a client closes a connection that the daemon leaves open. */
const longestMs = 20_000

function textOf({ target, headers, body }: Abandoned): string {
  const lines = Object.entries({
    Host: 'localhost',
    ...headers,
    'Content-Length': `${Buffer.byteLength(body)}`,
  })
  return `${target} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`
}

/** One client. @returns when its connection has closed */
function leave(
  port: number,
  request: Abandoned,
  moment: (typeof moments)[number],
  go: (socket: Socket) => unknown,
): Promise<void> {
  return new Promise((resolve) => {
    const text = textOf(request)
    const socket = connect({ port, host: '127.0.0.1' })
    const limit = setTimeout(() => socket.destroy(), longestMs)
    socket.on('error', () => undefined)
    socket.once('close', () => {
      clearTimeout(limit)
      resolve()
    })
    if (moment === 'after') {
      socket.write(text)
      socket.once('data', () => go(socket))
    } else socket.write(moment === 'before' ? text.slice(0, -1) : text, () => go(socket))
    socket.resume()
  })
}

/**
 * Lets clients leave in every way, some at the same time.
 *
 * @param make makes the request of one client
 * @param times how many for each moment and departure
 */
export async function abandon(
  port: number,
  make: () => Abandoned | Promise<Abandoned>,
  times: number,
): Promise<void> {
  const ways = moments.flatMap((moment) => Object.values(departures).map((go) => [moment, go] as const))
  const all = Array.from({ length: times }, () => ways).flat()
  const next = async (): Promise<void> => {
    for (let way = all.pop(); way; way = all.pop()) await leave(port, await make(), ...way)
  }
  await Promise.all(Array.from({ length: Math.min(64, all.length) }, next))
}
