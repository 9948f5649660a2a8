/**
 * Passes UDP datagrams of a port on to a container, and its answers back. Each address and port of a client is a session with a socket
 * of its own towards the container. A client may send from any number of addresses: sessions have a limit, and at the limit the one that
 * was idle the longest ends. Datagrams are dropped where they cannot be sent at once, as on any network.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import { safely } from '@selvedge/service-kit/safely'
import {
  type Destination,
  type OpenPort,
  openOnEach,
  type PortParts,
  type Room,
  shareOf,
} from './destination.ts'

/** Sessions of one port. */
export const maxSessions = 256
/** Milliseconds without a datagram after which a session ends, and between two checks. */
const idleMs = 60_000
const checkMs = 10_000
/** Datagrams of a session that wait for its socket. */
const maxWaiting = 8
/** Bytes that a socket holds for a slow network. */
const maxQueuedBytes = 1024 * 1024

interface Session {
  readonly address: string
  /** Undefined until it is connected with the container. */
  socket: Socket | undefined
  /** The instance that it is connected with. */
  instance: object | undefined
  readonly waiting: Buffer[]
  usedAt: number
}

type Answer = (bytes: Buffer) => void

/** The sessions of one port. */
function createSessions(room: Room, now: () => number) {
  /** By address and port of the client, the one that was used last at the end. */
  const sessions = new Map<string, Session>()

  function end(key: string): void {
    const session = sessions.get(key)
    if (!session) return
    session.socket?.close()
    sessions.delete(key)
    room.leave(session)
  }

  function makeRoom(address: string): void {
    const ofAddress = [...sessions].filter(([, each]) => each.address === address)
    if (ofAddress.length >= shareOf(address, maxSessions)) end(ofAddress[0]![0])
    else if (sessions.size >= maxSessions) end([...sessions.keys()][0]!)
  }

  /** The session of a client; undefined if there is no room for a new one. */
  function use(key: string, address: string): Session | undefined {
    const known = sessions.get(key)
    if (!known) makeRoom(address)
    if (!known && !room.hasPlace()) return undefined
    const session = known ?? { address, socket: undefined, instance: undefined, waiting: [], usedAt: now() }
    session.usedAt = now()
    sessions.delete(key)
    sessions.set(key, session)
    room.enter(session)
    return session
  }

  return {
    use,
    end,
    isPresent: (key: string, session: Session) => sessions.get(key) === session,
    endIdle() {
      for (const [key, { usedAt }] of sessions) if (now() - usedAt > idleMs) end(key)
    },
    endAll() {
      for (const key of [...sessions.keys()]) end(key)
    },
  }
}

/** @throws Error of the system if the port cannot be opened */
export async function openUdpPort(parts: PortParts): Promise<OpenPort> {
  const { hosts, port, find, now, room } = parts
  const { end, use, isPresent, endIdle, endAll } = createSessions(room, now)

  /** Sends a datagram to the instance that serves now: a session does not stay with one that was replaced. */
  async function pass(key: string, session: Session, bytes: Buffer, answer: Answer): Promise<void> {
    if (session.waiting.length >= maxWaiting) return
    session.waiting.push(bytes)
    if (session.waiting.length > 1) return
    const destination = await find().catch(() => undefined)
    if (!isPresent(key, session)) return
    if (!destination) return end(key)
    destination.used()
    if (session.instance !== destination.instance) {
      session.socket?.close()
      session.socket = undefined
      const socket = await connectTo(destination, answer, () => {
        if (session.socket === socket && isPresent(key, session)) end(key)
      })
      if (!isPresent(key, session)) {
        socket?.close()
        return
      }
      if (!socket) return end(key)
      session.socket = socket
      session.instance = destination.instance
    }
    for (const each of session.waiting.splice(0)) sendTo(session.socket!, each)
  }

  async function listen(host: string): Promise<OpenPort> {
    const type = isIPv6(host) ? 'udp6' : 'udp4'
    const server = createSocket({ type, ipv6Only: type === 'udp6' })
    const receive = (bytes: Buffer, { address, port: from }: RemoteInfo) => {
      if (from === 0) return
      const key = `${host} ${address} ${from}`
      const session = use(key, address)
      if (!session) return undefined
      const answer: Answer = (sent) => {
        session.usedAt = now()
        if (server.getSendQueueSize() < maxQueuedBytes) server.send(sent, from, address, () => undefined)
      }
      return pass(key, session, bytes, answer)
    }
    server.bind({ port, address: host, exclusive: true })
    try {
      await once(server, 'listening')
    } catch (cause) {
      server.close()
      throw cause
    }
    server.on('error', () => undefined)
    server.on('message', safely('ports.datagram', receive))
    return {
      port: server.address().port,
      close: () => {
        server.close()
      },
    }
  }

  const servers = await openOnEach(hosts, listen)
  const checking = setInterval(safely('ports.idle', endIdle), checkMs).unref()
  return {
    port: servers[0]!.port,
    close() {
      clearInterval(checking)
      for (const each of servers) each.close()
      endAll()
    },
  }
}

function sendTo(socket: Socket, bytes: Buffer): void {
  if (socket.getSendQueueSize() < maxQueuedBytes) socket.send(bytes, () => undefined)
}

/** @param answer gets what the container sends @param onError called when the socket fails @returns undefined if that fails */
async function connectTo(
  { upstream }: Destination,
  answer: Answer,
  onError: () => void,
): Promise<Socket | undefined> {
  const { host, port, localAddress } = upstream
  const socket = createSocket('udp4')
  try {
    // From this address of the device: without it, a datagram would leave the device after the network of the container is gone.
    if (localAddress !== undefined) {
      socket.bind({ port: 0, address: localAddress, exclusive: true })
      await once(socket, 'listening')
    }
    socket.connect(port, host)
    await once(socket, 'connect')
  } catch {
    socket.close()
    return undefined
  }
  socket.on('message', safely('ports.answer', answer))
  // A container that does not listen: the system reports that with the next datagram.
  socket.on('error', safely('ports.failed', onError))
  return socket
}
