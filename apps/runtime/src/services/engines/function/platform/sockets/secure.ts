/**
 * TLS of the function. It is Deno's, inside of the sandbox, over a connection that the runtime opens: the runtime sees nothing but what is
 * encrypted. The platform reads and writes such a connection as fast as it can; here both sides wait for each other.
 */
import { showPeer } from './handle.ts'
import type {
  ConnectOptions,
  NodeNet,
  NodeSecureSocket,
  NodeSocket,
  NodeStream,
  NodeTls,
  Written,
} from './node.ts'
import type { Target } from './tunnel.ts'

/** How the platform marks a stream in JavaScript as the transport of TLS (its `internal/js_stream_socket`). */
const isStream = Symbol.for('kJSStreamHandle')
const owner = Symbol.for('kJSStreamOwner')

/** The transport of one TLS connection, in the form that the platform expects. */
interface Transport {
  /** Both are set by the platform. */
  readBuffer?: (chunk: Uint8Array) => void
  emitEOF?: () => void
}

type Replace = (this: NodeSecureSocket, handle: Transport) => void

/** The method that gives a TLS socket another transport before it is connected. @throws Error for a platform without it */
export function findReplace({ TLSSocket }: NodeTls): Replace {
  const { prototype } = TLSSocket
  const symbol = Object.getOwnPropertySymbols(prototype).find(
    ({ description }) => description === 'kReinitializeHandle',
  )
  if (symbol === undefined) throw new Error('the platform has no TLS for sockets of functions')
  return (prototype as unknown as Record<symbol, Replace>)[symbol]!
}

/** Connects a TLS socket that has no socket of its own yet. */
export function connectSecure(
  socket: NodeSecureSocket,
  { host, port, lookup, family, hints }: ConnectOptions,
  net: NodeNet,
  replace: Replace,
): void {
  socket._unrefTimer()
  socket.connecting = true
  const inner = net.connect({
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port }),
    ...(lookup !== undefined && { lookup }),
    ...(family !== undefined && { family }),
    ...(hints !== undefined && { hints }),
    allowHalfOpen: true,
  })
  inner.on('error', (cause: Error) => {
    if (socket.connecting) socket.destroy(cause)
    else socket._emitTLSError(cause)
  })
  inner.on('close', () => socket.destroy())
  socket.on('close', () => inner.destroy())
  inner.once('connect', () => {
    if (socket.destroyed) return
    const transport = createTransport(inner, { host: host ?? 'localhost', port: Number(port) })
    replace.call(socket, transport)
    follow(inner, transport)
    holdBack(socket, inner)
    socket.connecting = false
    socket.emit('connect')
    socket.emit('ready')
  })
}

function createTransport(stream: NodeSocket, target: Target): Transport {
  return {
    [isStream]: true,
    [owner]: { stream },
    reading: false,
    readStart: () => 0,
    readStop: () => 0,
    close: (done?: () => void) => {
      stream.destroy()
      done?.()
    },
    getpeername: (shown: object) => showPeer(shown, target),
    getsockname: () => 0,
    ref: () => undefined,
    unref: () => undefined,
    setNoDelay: () => 0,
    setKeepAlive: () => 0,
  } as Transport
}

function follow(stream: NodeStream, transport: Transport): void {
  stream.on('data', (chunk: Uint8Array) => transport.readBuffer?.(chunk))
  stream.once('end', () => transport.emitEOF?.())
}

/** Lets a TLS socket read no more than its reader, and write no more than the other side accepts. */
export function holdBack(socket: NodeSecureSocket, stream: NodeStream): void {
  const { _read: read, _writeGeneric: writeGeneric } = socket
  stream.on('data', () => {
    if (socket.readableLength >= socket.readableHighWaterMark) stream.pause()
  })
  socket._read = function (size) {
    if (stream.isPaused()) stream.resume()
    return read.call(this, size)
  }
  socket._writeGeneric = function (
    isList: boolean,
    data: Written,
    encoding: string,
    done: (cause?: Error | null) => void,
  ) {
    const go = () => writeGeneric.call(this, isList, data, encoding, done)
    if (stream.writableLength === 0 || stream.writableEnded || stream.destroyed) return go()
    // Writes complete in their order: nothing is its turn once everything before it was accepted.
    stream.write(new Uint8Array(), go)
  }
}
