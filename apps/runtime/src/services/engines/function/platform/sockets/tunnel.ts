/** One TCP connection of the function, over a connection of its own to the runtime, which opens it if `MCM.OUTBOUND` lists its target. */
import { errorHeader, refusedHeader } from '../../control.ts'
import { createFrameReader, encodeFrame, type Frame, maxPayload, subarray } from '../../frames.ts'
import { type DenoConnection, deno } from '../deno.ts'
import { decode, encode } from '../own.ts'

/** Bytes of the answer to the request for a connection. */
const maxAnswerBytes = 8192
const endOfData = encodeFrame('bytes', new Uint8Array())

/** A host, without brackets around an IPv6 address, and a port. */
export interface Target {
  readonly host: string
  readonly port: number
}

/** An error with the code of a system error, such as `ECONNREFUSED`. */
export interface SystemError extends Error {
  readonly code: string
  readonly syscall: string
  readonly address?: string
  readonly port?: number
}

export interface Tunnel {
  /** The next bytes of the other side; null after its last ones. @throws (rejects) SystemError */
  read(): Promise<Uint8Array | null>
  /** Resolves once the runtime has accepted the bytes. @throws (rejects) SystemError */
  write(bytes: Uint8Array): Promise<void>
  /** Nothing is written after this; it can still be read. */
  end(): Promise<void>
  close(): void
}

export interface Opening {
  /** @throws (rejects) SystemError */
  readonly opened: Promise<Tunnel>
  /** Gives up, or closes the connection. */
  close(): void
}

export type OpenTunnel = (target: Target) => Opening

export function systemError(code: string, syscall: string, detail = '', target?: Target): SystemError {
  const place = target ? ` ${target.host}:${target.port}` : ''
  const error = new Error(`${syscall} ${code}${place}${detail === '' ? '' : `: ${detail}`}`)
  return Object.assign(error, {
    code,
    syscall,
    ...(target && { address: target.host, port: target.port }),
  }) as SystemError
}

const authorityOf = ({ host, port }: Target): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

/** @param path of the runtime's socket */
export function openTunnel(path: string, target: Target): Opening {
  let connection: DenoConnection | undefined
  let isClosed = false
  const close = () => {
    if (isClosed) return
    isClosed = true
    connection?.close()
  }

  async function open(): Promise<Tunnel> {
    const { host, port } = target
    // What is no host would be a request of its own; the runtime checks the rest.
    if (!/^[\w.:-]{1,253}$/.test(host)) throw systemError('EINVAL', 'connect', 'it is no host name', target)
    connection = await deno.connect({ transport: 'unix', path }).catch(() => {
      throw systemError('EMFILE', 'connect', 'the runtime accepts no more connections', { host, port })
    })
    if (isClosed) connection.close()
    const authority = authorityOf(target)
    await writeAll(connection, encode(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`))
    return createTunnel(connection, await readAnswer(connection, target), close)
  }

  const opened = open().catch((cause: SystemError) => {
    close()
    throw 'syscall' in cause ? cause : systemError('ECONNRESET', 'connect', '', target)
  })
  // Who has given up does not wait for it.
  opened.catch(() => undefined)
  return { opened, close }
}

async function writeAll(connection: DenoConnection, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += await connection.write(subarray(bytes, at, bytes.length))
}

/** Reads the answer to the request. @returns what came behind it @throws SystemError if the connection was refused */
async function readAnswer(connection: DenoConnection, target: Target): Promise<Uint8Array> {
  const answer = new Uint8Array(maxAnswerBytes)
  for (let length = 0; length < answer.length; ) {
    const count = await connection.read(subarray(answer, length, answer.length))
    if (count === null) break
    length += count
    const text = decode(subarray(answer, 0, length))
    const end = text.indexOf('\r\n\r\n')
    if (end < 0) continue
    const head = text.slice(0, end)
    if (/^HTTP\/1\.1 200 /.test(head)) return answer.slice(end + 4, length)
    throw systemError(
      headerOf(head, errorHeader) ?? 'ECONNREFUSED',
      'connect',
      headerOf(head, refusedHeader),
      target,
    )
  }
  throw systemError('ECONNRESET', 'connect', '', target)
}

function headerOf(head: string, name: string): string | undefined {
  const line = head.split('\r\n').find((each) => each.toLowerCase().startsWith(`${name}:`))
  return line?.slice(name.length + 1).trim()
}

function createTunnel(connection: DenoConnection, first: Uint8Array, close: () => void): Tunnel {
  const parse = createFrameReader(maxPayload)
  const buffer = new Uint8Array(65_536)
  let frames: Frame[] = parse(first)
  let next = 0
  let isEnded = false

  async function nextFrame(): Promise<Frame> {
    while (next >= frames.length) {
      const count = await connection.read(buffer).catch(() => null)
      if (count === null) throw systemError('ECONNRESET', 'read')
      frames = parse(subarray(buffer, 0, count))
      next = 0
    }
    return frames[next++]!
  }

  return {
    async read() {
      if (isEnded) return null
      let { kind, payload } = await nextFrame()
      while (kind === 'source') ({ kind, payload } = await nextFrame())
      if (kind === 'message') throw systemError(decode(payload), 'read')
      if (payload.length > 0) return payload
      isEnded = true
      return null
    },
    async write(bytes) {
      try {
        for (let at = 0; at < bytes.length; at += maxPayload)
          await writeAll(connection, encodeFrame('bytes', bytes.subarray(at, at + maxPayload)))
      } catch {
        throw systemError('EPIPE', 'write')
      }
    },
    async end() {
      await writeAll(connection, endOfData).catch(() => undefined)
    },
    close,
  }
}
