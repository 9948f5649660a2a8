/** Frames of HTTP/2, written and read by hand (RFC 9113 § 4.1), for peers that do what no library does. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export const types = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  promise: 5,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
} as const
export const flags = { endStream: 1, ack: 1, endHeaders: 4, padded: 8 } as const
export const codes = { none: 0, protocol: 1, internal: 2, flow: 3, refused: 7, cancel: 8, calm: 11 } as const
export const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'

export function frame(type: number, flag: number, stream: number, payload: Buffer | string = ''): Buffer {
  const body = Buffer.from(payload as string, 'latin1')
  const head = Buffer.alloc(9)
  head.writeUIntBE(body.length, 0, 3)
  head[3] = type
  head[4] = flag
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, body])
}

export function number32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, at * 4)
  return bytes
}

/** A length of HPACK with a prefix of 7 bits (RFC 7541 § 5.1). */
function lengthOf(length: number): Buffer {
  if (length < 127) return Buffer.from([length])
  const bytes = [127]
  let rest = length - 127
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128)
  return Buffer.from([...bytes, rest])
}

export type Fields = readonly (readonly [name: string, value: string])[]

/** A header block: literals that enter no table (RFC 7541 § 6.2.2). */
export const block = (fields: Fields): Buffer =>
  Buffer.concat(
    fields.flatMap(([name, value]) => [
      Buffer.from([0]),
      lengthOf(name.length),
      Buffer.from(name, 'latin1'),
      lengthOf(value.length),
      Buffer.from(value, 'latin1'),
    ]),
  )

/** A HEADERS frame with all headers. */
export const headers = (stream: number, fields: Fields, flag = 0): Buffer =>
  frame(types.headers, flag | flags.endHeaders, stream, block(fields))

export interface Frame {
  readonly type: number
  readonly flag: number
  readonly stream: number
  readonly payload: Buffer
}

/** @returns reads pieces, and gives the frames that are complete */
function createFrameReader(): (chunk: Buffer) => Frame[] {
  let bytes = Buffer.alloc(0)
  return (chunk) => {
    bytes = Buffer.concat([bytes, chunk])
    const found: Frame[] = []
    while (bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
      const length = bytes.readUIntBE(0, 3)
      found.push({
        type: bytes[3]!,
        flag: bytes[4]!,
        stream: bytes.readUInt32BE(5) & 0x7fff_ffff,
        payload: bytes.subarray(9, 9 + length),
      })
      bytes = bytes.subarray(9 + length)
    }
    return found
  }
}

export interface RawClient {
  readonly socket: Socket
  send(...frames: readonly (Buffer | string)[]): void
  /** Frames that came. */
  readonly frames: readonly Frame[]
  /** Resolves with the first frame of a type that came or comes, on a stream if one is named. */
  saw(type: number, stream?: number): Promise<Frame>
  /** Resolves when the connection closed. */
  readonly closed: Promise<void>
}

/** Connects to a server on the loopback. @param isHttp2 whether the preface and SETTINGS are sent */
export function openRaw(port: number, isHttp2 = true): RawClient {
  const socket = connect(port, '127.0.0.1')
  const read = createFrameReader()
  const frames: Frame[] = []
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => {
    frames.push(...read(chunk))
    socket.emit('frames')
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const client: RawClient = {
    socket,
    frames,
    closed,
    send: (...sent) => {
      for (const each of sent) if (!socket.destroyed) socket.write(each, 'latin1')
    },
    saw: (type, stream) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = frames.find((each) => each.type === type && (stream ?? each.stream) === each.stream)
          if (found) resolve(found)
        }
        socket.on('frames', look)
        closed.then(() => reject(new Error(`the connection closed before a frame of type ${type}`)))
        look()
      }),
  }
  if (isHttp2) client.send(preface, frame(types.settings, 0, 0))
  return client
}

/** The frame that ends a stream or a connection: its error code. */
export const codeOf = ({ type, payload }: Frame): number =>
  payload.readUInt32BE(type === types.goaway ? 4 : 0)

/** A server on the loopback that speaks raw frames. @param onFrame is called with each frame of each connection */
export async function serveRaw(onFrame: (frame: Frame, socket: Socket) => void, greets = true) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const read = createFrameReader()
    let left = preface.length
    sockets.add(socket)
    socket.on('error', () => undefined)
    if (greets) socket.write(frame(types.settings, 0, 0))
    socket.on('data', (chunk) => {
      const skipped = Math.min(left, chunk.length)
      left -= skipped
      for (const each of read(chunk.subarray(skipped))) onFrame(each, socket)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as { port: number }).port,
    stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
