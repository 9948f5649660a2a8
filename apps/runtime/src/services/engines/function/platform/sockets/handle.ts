/** What a `net.Socket` of the function has in place of a handle of the system: the reading side, and the end of both. */
import { bufferOf, type ConnectOptions, type NodeSocket, nextTick } from './node.ts'
import type { Opening, SystemError, Target, Tunnel } from './tunnel.ts'

export interface Handle {
  reading: boolean
  bytesRead: number
  bytesWritten: number
  readonly target: Target
  /** The connection once it is open. */
  tunnel: Tunnel | undefined
  readStart(): number
  readStop(): number
  close(done?: () => void): void
}

/** The platform follows no asynchronous resource of these sockets: all have the id of the first one. */
const asyncId = 1

/** @param onread of the options of the socket: then bytes are for its callback */
export function createHandle(
  socket: NodeSocket,
  opening: Opening,
  target: Target,
  onread: ConnectOptions['onread'],
): Handle {
  const deliver = onread ? deliverTo(onread) : (bytes: Uint8Array) => socket.push(bufferOf(bytes))
  let isPumping = false

  /** Reads while the socket wants bytes: the runtime reads no more than that, and no more is read of the other side. */
  async function pump(tunnel: Tunnel): Promise<void> {
    if (isPumping) return
    isPumping = true
    try {
      while (handle.reading && socket._handle === handle) {
        const bytes = await tunnel.read()
        if (socket._handle !== handle || socket.destroyed) return
        socket._unrefTimer()
        if (bytes === null) return endReading(socket)
        handle.bytesRead += bytes.length
        if (!deliver(bytes)) handle.reading = false
      }
    } catch (cause) {
      if (socket._handle === handle) socket.destroy(cause as SystemError)
    } finally {
      isPumping = false
    }
  }

  const handle: Handle & Record<string, unknown> = {
    reading: false,
    bytesRead: 0,
    bytesWritten: 0,
    writeQueueSize: 0,
    target,
    tunnel: undefined,
    getAsyncId: () => asyncId,
    readStart() {
      handle.reading = true
      if (handle.tunnel) void pump(handle.tunnel)
      return 0
    },
    readStop() {
      handle.reading = false
      return 0
    },
    close(done) {
      handle.reading = false
      opening.close()
      if (done) nextTick(done)
    },
    ref: () => undefined,
    unref: () => undefined,
    setNoDelay: () => 0,
    setKeepAlive: () => 0,
    getsockname: () => 0,
    getpeername: (shown: object) => showPeer(shown, target),
  }
  return handle
}

/** The address of a name is known to the runtime alone. */
export function showPeer(shown: object, { host, port }: Target): number {
  const isAddress = /^[\d.]+$|:/.test(host)
  Object.assign(shown, {
    port,
    ...(isAddress && { address: host, family: host.includes(':') ? 'IPv6' : 'IPv4' }),
  })
  return 0
}

function endReading(socket: NodeSocket): void {
  socket.push(null)
  socket.read(0)
}

/** `onread`: bytes are copied to one buffer after the other. @returns whether the reader wants more */
function deliverTo({ buffer, callback }: NonNullable<ConnectOptions['onread']>) {
  const nextBuffer = () => (typeof buffer === 'function' ? buffer() : buffer) as Uint8Array
  const call = callback as (count: number, filled: Uint8Array) => boolean | undefined
  return (bytes: Uint8Array): boolean => {
    let isWanted = true
    for (let at = 0; at < bytes.length; ) {
      const target = nextBuffer()
      if (target.length === 0) return false
      const part = bytes.subarray(at, at + target.length)
      target.set(part)
      at += part.length
      if (call(part.length, target) === false) isWanted = false
    }
    return isWanted
  }
}
