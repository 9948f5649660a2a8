/** Persistent connections to instances, with one request at a time on each. */
import { connect, type Socket } from 'node:net'
import { safely } from '@selvedge/service-kit/safely'
import type { Running } from '../containers/instances.ts'
import type { ResponseReader } from './response-reader.ts'

/** Maximum idle connections to one instance. */
const maxIdle = 256

export interface Connection {
  readonly socket: Socket
  /** Whether it has carried an answer before: then its end may come from the other side at any moment. */
  used: boolean
  reader: ResponseReader | undefined
  /** Called when the connection ends during a request. */
  onGone: ((cause: Error | undefined) => void) | undefined
  /** Called when an answer could not be passed on, while the connection carries a request. */
  onFailure: ((cause: Error) => void) | undefined
}

export interface Connections {
  take(running: Running): Connection
  /** Gives it back for the next request. */
  keep(running: Running, connection: Connection): void
  close(): void
}

export function createConnections(): Connections {
  const idle = new WeakMap<Running, Connection[]>()
  const all = new Set<Socket>()

  function open(running: Running): Connection {
    const { upstream } = running.instance
    const socket = 'socketPath' in upstream ? connect(upstream.socketPath) : connect(upstream)
    const connection: Connection = {
      socket,
      used: false,
      reader: undefined,
      onGone: undefined,
      onFailure: undefined,
    }
    /** The request of an answer that throws is refused, and the connection ends. */
    const fail = (cause: unknown) => {
      socket.destroy()
      connection.onFailure?.(cause as Error)
    }
    const onData = (chunk: Buffer) => {
      // Bytes that no request waits for would be taken for the answer to the next one.
      if (connection.reader) connection.reader.read(chunk)
      else socket.destroy()
    }
    let failure: Error | undefined
    const onClose = () => {
      all.delete(socket)
      const waiting = idle.get(running)
      const at = waiting?.indexOf(connection) ?? -1
      if (at >= 0) waiting!.splice(at, 1)
      connection.onGone?.(failure)
    }
    all.add(socket)
    socket.setNoDelay(true)
    socket.on('data', safely('gateway.data', onData, fail))
    socket.on(
      'end',
      safely('gateway.end', () => connection.reader?.end(), fail),
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
      connection.reader = undefined
      connection.onGone = undefined
      connection.onFailure = undefined
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
