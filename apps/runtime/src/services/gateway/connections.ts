/** Persistent connections to instances, with one request at a time on each. */
import type { Socket } from 'node:net'
import { safely } from '@selvedge/service-kit/safely'
import type { Running } from '../containers/instances.ts'
import { connectTo } from '../engines/http2-client.ts'

/** Maximum idle connections to one instance. */
const maxIdle = 256

/** The request that a connection carries. */
export interface ConnectionUser {
  read(chunk: Buffer): void
  /** The instance sends nothing more. */
  ended(): void
  /** The connection closed. */
  gone(cause: Error | undefined): void
  /** The answer could not be passed on. */
  failed(cause: Error): void
}

export interface Connection {
  readonly socket: Socket
  /** Whether it carried an earlier request: the instance may close it at any moment. */
  used: boolean
  user: ConnectionUser | undefined
}

export interface Connections {
  take(running: Running): Connection
  /** Keeps a connection that no request uses for the next one. */
  keep(running: Running, connection: Connection): void
  close(): void
}

export function createConnections(): Connections {
  const idle = new WeakMap<Running, Connection[]>()
  const all = new Set<Socket>()

  function open(running: Running): Connection {
    const socket = connectTo(running.instance.upstream)
    const connection: Connection = {
      socket,
      used: false,
      user: undefined,
    }
    /** If an answer causes an exception, its request is refused and the connection ends. */
    const fail = (cause: unknown) => {
      socket.destroy()
      connection.user?.failed(cause as Error)
    }
    const onData = (chunk: Buffer) => {
      // Unexpected bytes would be read as the answer to the next request.
      if (connection.user) connection.user.read(chunk)
      else socket.destroy()
    }
    let failure: Error | undefined
    const onClose = () => {
      all.delete(socket)
      const waiting = idle.get(running)
      const at = waiting?.indexOf(connection) ?? -1
      if (at >= 0) waiting!.splice(at, 1)
      connection.user?.gone(failure)
    }
    all.add(socket)
    socket.setNoDelay(true)
    socket.on('data', safely('gateway.data', onData, fail))
    socket.on(
      'end',
      safely('gateway.end', () => connection.user?.ended(), fail),
    )
    socket.on('error', (cause) => {
      failure = cause
    })
    socket.on('close', safely('gateway.close', onClose, fail))
    return connection
  }

  return {
    take(running) {
      const waiting = idle.get(running)
      const connection = waiting?.pop()
      if (!connection) return open(running)
      connection.used = true
      connection.socket.ref()
      return connection
    },
    keep(running, connection) {
      let waiting = idle.get(running)
      if (!waiting) {
        waiting = []
        idle.set(running, waiting)
      }
      if (waiting.length >= maxIdle || connection.socket.destroyed) connection.socket.destroy()
      else {
        connection.socket.unref()
        waiting.push(connection)
      }
    },
    close() {
      for (const socket of all) socket.destroy()
    },
  }
}
