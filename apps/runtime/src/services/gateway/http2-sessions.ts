/** Connections to instances that speak HTTP/2 without TLS (`MCM.PROTOCOL: "h2c"`), with many requests at a time on each. */
import type { ClientHttp2Session } from 'node:http2'
import { safely } from '@selvedge/service-kit/safely'
import type { Running } from '../containers/instances.ts'
import { clientOptions, connectTo, firstStreams } from '../engines/http2-client.ts'

/** Maximum connections to one instance; a further one is opened when all streams of the others are in use. */
const maxSessions = 16
export interface Http2Session {
  readonly session: ClientHttp2Session
  /** Streams that are open. */
  readonly streams: Set<object>
  /** Whether it carried an earlier request. */
  used: boolean
  /** Whether the instance has accepted the connection, and whether it has answered in HTTP/2. */
  isConnected: boolean
  speaksHttp2: boolean
}

export interface Http2Sessions {
  /** A connection with room for a stream, where there is one. */
  take(running: Running): Http2Session
  close(): void
}

export function createHttp2Sessions(): Http2Sessions {
  const sessionsOf = new WeakMap<Running, Http2Session[]>()
  const all = new Set<ClientHttp2Session>()

  function open(running: Running, own: Http2Session[]): Http2Session {
    const http2 = process.getBuiltinModule('node:http2')
    const { upstream } = running.instance
    const socket = connectTo(upstream)
    socket.setNoDelay(true)
    const session = http2.connect('http://localhost', { ...clientOptions, createConnection: () => socket })
    const opened: Http2Session = {
      session,
      streams: new Set(),
      used: false,
      isConnected: false,
      speaksHttp2: false,
    }
    const forget = () => {
      all.delete(session)
      const at = own.indexOf(opened)
      if (at >= 0) own.splice(at, 1)
    }
    all.add(session)
    own.push(opened)
    session.on('error', () => undefined)
    session.on('close', safely('gateway.session-close', forget))
    session.on('remoteSettings', () => {
      opened.speaksHttp2 = true
    })
    socket.on('connect', () => {
      opened.isConnected = true
    })
    // An instance that closes its half of the connection is gone: no frame reports it.
    socket.on('end', () => socket.destroy())
    return opened
  }

  return {
    take(running) {
      let own = sessionsOf.get(running)
      if (!own) {
        own = []
        sessionsOf.set(running, own)
      }
      const usable = own.filter(({ session }) => !session.closed && !session.destroyed)
      const free = usable.find(({ session, streams }) => streams.size < maxStreamsOf(session))
      if (free) return free
      return own.length < maxSessions || usable.length === 0 ? open(running, own) : usable.at(-1)!
    },
    close() {
      for (const session of all) session.destroy()
    },
  }
}

/** Streams that an instance accepts on a connection. Without any, requests wait up to their time limit. */
const maxStreamsOf = ({ remoteSettings }: ClientHttp2Session): number =>
  Math.min(remoteSettings?.maxConcurrentStreams ?? firstStreams, 1000)
