import { connect, type Socket } from 'node:net'

export interface Vector {
  readonly name: string
  /** Body as text. */
  readonly body?: string
  /** Body as bytes, where it is no text. */
  readonly base64?: string
  /** Body made of repetitions: prefix, `unit` `times` times, suffix. */
  readonly repeat?: {
    readonly prefix: string
    readonly unit: string
    readonly times: number
    readonly suffix: string
  }
  /** Header lines in place of the usual ones, `{host}` standing for host and port, `{length}` for the body's. */
  readonly headers?: readonly string[]
  /** First line in place of `POST /jsonrpc/v1 HTTP/1.1`. */
  readonly start?: string
  readonly chunked?: number
  /** Milliseconds between the bytes of the body. */
  readonly pause?: number
  readonly status: number
  /** A header line that the answer must have. */
  readonly header?: string
  /** What the body must hold; absent: no body. */
  readonly answer?: unknown
  /** Why this server answers otherwise than the specification says. */
  readonly departure?: string
}

const usual = ['Host: {host}', 'Content-Type: application/json', 'Content-Length: {length}']

export function bodyOf({ body, base64, repeat }: Pick<Vector, 'body' | 'base64' | 'repeat'>): Buffer {
  if (base64 !== undefined) return Buffer.from(base64, 'base64')
  if (repeat) return Buffer.from(repeat.prefix + repeat.unit.repeat(repeat.times) + repeat.suffix)
  return Buffer.from(body ?? '')
}

/** Replaces names in braces, such as `{token}`, in all texts of a vector. */
export const withValues = <T>(vector: T, values: Readonly<Record<string, string>>): T =>
  JSON.parse(
    Object.entries(values).reduce(
      (text, [name, value]) => text.replaceAll(`{${name}}`, value),
      JSON.stringify(vector),
    ),
  )

/**
 * Sends a vector byte by byte as it says, and reads the answer until the server ends the connection or the body is whole.
 *
 * @param socketPath of a Unix socket, in place of the address of the URL
 */
export function sendVector(
  url: string,
  vector: Vector,
  socketPath?: string,
): Promise<{ status: number; text: string; headers: string }> {
  const { host, hostname, port } = new URL(url)
  const body = bodyOf(vector)
  const start = vector.start ?? 'POST /jsonrpc/v1 HTTP/1.1'
  const lines = [start, ...(vector.headers ?? usual), 'Connection: close'].map((line) =>
    line.replace('{host}', host).replace('{length}', String(body.length)),
  )
  const head = `${lines.join('\r\n')}\r\n\r\n`
  return new Promise((resolve, reject) => {
    const socket = socketPath === undefined ? connect(Number(port), hostname) : connect(socketPath)
    const chunks: Buffer[] = []
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', (cause) => (chunks.length > 0 ? undefined : reject(cause)))
    socket.on('close', () => resolve(parseAnswer(Buffer.concat(chunks).toString())))
    if (vector.pause !== undefined) {
      socket.write(head)
      void drip(socket, body, vector.pause)
      return
    }
    // In one write: after the first of two the server may have answered and closed.
    const sent = vector.chunked ? chunk(body, vector.chunked) : body
    socket.write(Buffer.concat([Buffer.from(head), Buffer.from(sent)]))
  })
}

async function drip(socket: Socket, body: Buffer, pause: number): Promise<void> {
  for (const byte of body) {
    socket.write(Buffer.from([byte]))
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}

function chunk(body: Buffer, size: number): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size)
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'))
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}

function parseAnswer(received: string): { status: number; text: string; headers: string } {
  const text = received.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '')
  const end = text.indexOf('\r\n\r\n')
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]),
    headers: text.slice(0, end),
    text: text.slice(end + 4),
  }
}
