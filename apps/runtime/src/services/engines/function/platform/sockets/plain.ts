/** `connect` of a `net.Socket` of the function: the connection is opened by the runtime. Everything else of the class stays Node's. */
import { leftToRuntime } from '../names.ts'
import { createHandle, type Handle } from './handle.ts'
import {
  bytesOf,
  type ConnectOptions,
  type NodeNet,
  type NodeSocket,
  nextTick,
  nodeModule,
  type Written,
} from './node.ts'
import { type OpenTunnel, type SystemError, systemError, type Target, type Tunnel } from './tunnel.ts'

type Lookup = (
  host: string,
  options: object,
  done: (cause: Error | null, address?: string | readonly { readonly address: string }[]) => void,
) => void

/** A port as Node.js accepts it: a number from 0 to 65535, or its digits. @throws RangeError for any other */
export function portOf(port: unknown): number {
  const number = typeof port === 'string' && port.trim() !== '' ? Number(port) : port
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number > 65_535)
    throw Object.assign(
      new RangeError(`options.port should be >= 0 and < 65536. Received ${String(port).slice(0, 100)}.`),
      { code: 'ERR_SOCKET_BAD_PORT' },
    )
  return number
}

/** The target of the options. @throws RangeError */
const targetOf = ({ host = 'localhost', port }: ConnectOptions): Target => ({
  host: String(host),
  port: portOf(port),
})

/** Connects a socket. Its events come as in Node: `connect`, `ready`, data, `end`, `close`; or `error`, `close`. */
export function connectPlain(socket: NodeSocket, options: ConnectOptions, open: OpenTunnel): void {
  const target = targetOf(options)
  begin(socket)
  if (!usesOwnLookup(options)) {
    // As in Node, nothing happens before the caller has added its listeners.
    nextTick(() => dial(socket, target, options, open))
    return
  }
  lookUp(options.lookup as Lookup, target, options, (cause, host) => {
    if (!socket.connecting) return
    if (cause) socket.destroy(cause)
    else dial(socket, { ...target, host }, options, open)
  })
}

/** A socket that was closed may connect again. */
function begin(socket: NodeSocket): void {
  if (socket.destroyed) {
    socket._handle = null
    socket._peername = undefined
    socket._undestroy()
  }
  // After the end of the other side, Node has put a method that fails in its place.
  delete (socket as { write?: unknown }).write
  socket._unrefTimer()
  socket.connecting = true
  socket._writeGeneric = writeGeneric
  socket._final = final
}

/** A function that finds addresses in its own way; the platform's may resolve nothing here, and the runtime does it. */
function usesOwnLookup({ host, lookup }: ConnectOptions): boolean {
  if (typeof lookup !== 'function' || nodeModule<NodeNet>('node:net').isIP(host ?? 'localhost') !== 0)
    return false
  return !(leftToRuntime in lookup) && lookup !== nodeModule<{ lookup: unknown }>('node:dns').lookup
}

function lookUp(
  lookup: Lookup,
  { host }: Target,
  { family = 0, hints = 0 }: ConnectOptions,
  done: (cause: Error | null, address: string) => void,
): void {
  lookup(host, { family, hints, all: false }, (cause, found) => {
    const address = typeof found === 'string' ? found : (found?.[0]?.address ?? '')
    done(cause ?? (address === '' ? systemError('ENOTFOUND', 'getaddrinfo', host) : null), address)
  })
}

function dial(socket: NodeSocket, target: Target, options: ConnectOptions, open: OpenTunnel): void {
  if (!socket.connecting || socket.destroyed) return
  const opening = open(target)
  const handle = createHandle(socket, opening, target, options.onread)
  socket._handle = handle
  opening.opened.then(
    (tunnel) => {
      if (socket._handle === handle) onOpen(socket, handle, tunnel)
      else tunnel.close()
    },
    (cause: SystemError) => {
      if (socket._handle === handle) socket.destroy(cause)
    },
  )
}

function onOpen(socket: NodeSocket, handle: Handle, tunnel: Tunnel): void {
  handle.tunnel = tunnel
  socket.connecting = false
  socket._unrefTimer()
  socket.emit('connect')
  socket.emit('ready')
  if (socket._handle !== handle) return
  if (handle.reading) handle.readStart()
  else if (!socket.isPaused()) socket.read(0)
}

/** Waits until the socket is connected. @param fail called once if it is closed before */
function whenConnected(socket: NodeSocket, next: () => void, fail: () => void): void {
  const onConnect = () => {
    socket.off('close', onClose)
    next()
  }
  const onClose = () => {
    socket.off('connect', onConnect)
    fail()
  }
  socket.once('connect', onConnect)
  socket.once('close', onClose)
}

/** In place of the method of the class. Its callback waits for the runtime, which waits for the other side. */
function writeGeneric(
  this: NodeSocket,
  isList: boolean,
  data: Written,
  encoding: string,
  done: (cause?: Error | null) => void,
): void {
  const { tunnel } = (this._handle ?? {}) as Partial<Handle>
  const fail = (message: string, code: string) => done(Object.assign(new Error(message), { code }))
  if (this.connecting)
    whenConnected(
      this,
      () => this._writeGeneric(isList, data, encoding, done),
      () =>
        fail('Socket closed before the connection was established', 'ERR_SOCKET_CLOSED_BEFORE_CONNECTION'),
    )
  else if (!tunnel) fail('Socket is closed', 'ERR_SOCKET_CLOSED')
  else {
    this._unrefTimer()
    writeAll(this._handle as Handle, tunnel, isList ? data : [{ chunk: data, encoding }]).then(() => {
      this._unrefTimer()
      done()
    }, done)
  }
}

async function writeAll(handle: Handle, tunnel: Tunnel, data: unknown): Promise<void> {
  for (const { chunk, encoding } of data as { chunk: string | Uint8Array; encoding: string }[]) {
    const bytes = bytesOf(chunk, encoding)
    handle.bytesWritten += bytes.length
    await tunnel.write(bytes)
  }
}

function final(this: NodeSocket, done: (cause?: Error | null) => void): void {
  const { tunnel } = (this._handle ?? {}) as Partial<Handle>
  if (this.connecting) whenConnected(this, () => this._final(done), done)
  else if (tunnel) tunnel.end().then(() => done())
  else done()
}
