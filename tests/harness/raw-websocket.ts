/** A WebSocket client that sends whatever bytes a test wants: frames that no library would send. */
import { connect, type NetConnectOpts, type Socket } from 'node:net'

export interface FrameOptions {
  readonly opcode?: number
  readonly fin?: boolean
  /** Bits RSV1 to RSV3, as in the first byte. */
  readonly reserved?: number
  readonly masked?: boolean
  /** Length that the header has, in place of the real one. */
  readonly declared?: number
}

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** A frame of a client (RFC 6455 § 5.2). The mask is zero: the content stays readable. */
export function frame(content: string | Buffer, options: FrameOptions = {}): Buffer {
  const { opcode = opcodes.text, fin = true, reserved = 0, masked = true } = options
  const bytes = Buffer.from(content)
  const { declared = bytes.length } = options
  const mask = masked ? 0x80 : 0
  const first = (fin ? 0x80 : 0) | reserved | opcode
  let head: Buffer
  if (declared < 126) head = Buffer.from([first, mask | declared])
  else if (declared < 65_536) head = Buffer.from([first, mask | 126, declared >> 8, declared & 255])
  else {
    head = Buffer.alloc(10)
    head[0] = first
    head[1] = mask | 127
    head.writeBigUInt64BE(BigInt(declared), 2)
  }
  return Buffer.concat([head, masked ? Buffer.alloc(4) : Buffer.alloc(0), bytes])
}

interface Received {
  readonly opcode: number
  readonly content: Buffer
}

/** A connection after its handshake. */
export interface RawSocket {
  readonly socket: Socket
  /** First line of the answer to the handshake. */
  readonly status: number
  /** The whole answer to the handshake. */
  readonly head: string
  send(...frames: readonly Buffer[]): void
  /** The next frame; undefined if the connection ends before. */
  next(): Promise<Received | undefined>
  /** The code of the close frame; 0 if the connection ends without one. Other frames are skipped. */
  closed(): Promise<number>
}

export const handshakeLines = (host: string): string[] => [
  `Host: ${host}`,
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
]

export interface OpenOptions {
  readonly path?: string
  /** Header lines in place of the usual ones. */
  readonly lines?: (host: string) => readonly string[]
  /** Bytes behind the request, in the same write. */
  readonly behind?: Buffer
  /** First line in place of the usual one. */
  readonly start?: string
  /** Whether the answer and all frames are left unread. */
  readonly unread?: boolean
}

/** @returns the frames at the beginning of some bytes, and the rest */
function framesIn(bytes: Buffer): { readonly frames: Received[]; readonly rest: Buffer } {
  const frames: Received[] = []
  let rest = bytes
  for (;;) {
    const found = firstFrame(rest)
    if (!found) return { frames, rest }
    frames.push(found.frame)
    rest = rest.subarray(found.size)
  }
}

function firstFrame(bytes: Buffer): { readonly frame: Received; readonly size: number } | undefined {
  if (bytes.length < 2) return undefined
  const short = bytes[1]! & 127
  const start = short === 126 ? 4 : short === 127 ? 10 : 2
  if (bytes.length < start) return undefined
  const length =
    short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short
  if (bytes.length < start + length) return undefined
  const content = bytes.subarray(start, start + length)
  return { frame: { opcode: bytes[0]! & 15, content }, size: start + length }
}

/** Connects, sends a handshake and waits for its answer. */
export function openRaw(to: NetConnectOpts & { host?: string; port?: number }, options: OpenOptions = {}) {
  const host = to.port === undefined ? 'localhost' : `127.0.0.1:${to.port}`
  const { path = '/jsonrpc/v1', lines = handshakeLines, start = `GET ${path} HTTP/1.1` } = options
  const socket = connect(to)
  const request = `${start}\r\n${lines(host).join('\r\n')}\r\n\r\n`
  socket.write(options.behind ? Buffer.concat([Buffer.from(request), options.behind]) : request)
  return new Promise<RawSocket>((resolve, reject) => {
    socket.on('error', reject)
    if (options.unread) {
      socket.once('connect', () => resolve(rawSocket(socket, '', Buffer.alloc(0))))
      return
    }
    let bytes = Buffer.alloc(0)
    const onData = (piece: Buffer) => {
      bytes = Buffer.concat([bytes, piece])
      const end = bytes.indexOf('\r\n\r\n')
      if (end < 0) return
      socket.off('data', onData)
      const head = bytes.subarray(0, end + 4).toString()
      const behind = bytes.subarray(end + 4)
      resolve(
        head.startsWith('HTTP/1.1 101')
          ? rawSocket(socket, head, behind)
          : rawSocket(socket, head + behind, Buffer.alloc(0)),
      )
    }
    socket.on('data', onData)
    socket.once('close', () => resolve(rawSocket(socket, bytes.toString(), Buffer.alloc(0))))
  })
}

function rawSocket(socket: Socket, head: string, behind: Buffer): RawSocket {
  let rest: Buffer = behind
  const received: Received[] = []
  let isClosed = socket.closed
  let wake: () => void = () => undefined
  const read = (piece: Buffer) => {
    const found = framesIn(Buffer.concat([rest, piece]))
    rest = found.rest
    received.push(...found.frames)
    wake()
  }
  if (head !== '') {
    read(Buffer.alloc(0))
    socket.on('data', read)
  }
  socket.on('error', () => undefined)
  socket.once('close', () => {
    isClosed = true
    wake()
  })
  const next = async (): Promise<Received | undefined> => {
    while (received.length === 0 && !isClosed)
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    return received.shift()
  }
  return {
    socket,
    head,
    status: Number(head.split(' ')[1] ?? 0),
    send: (...frames) => void socket.write(Buffer.concat(frames)),
    next,
    async closed() {
      for (;;) {
        const each = await next()
        if (!each) return 0
        if (each.opcode === opcodes.close)
          return each.content.length >= 2 ? each.content.readUInt16BE(0) : 1005
      }
    },
  }
}
