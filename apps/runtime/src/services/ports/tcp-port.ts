/**
 * Passes TCP connections of a port on to a container. Each side is read no faster than the other one reads, and may close its half
 * alone. A client may send nothing, read nothing, or come ten thousand times: the connections of a port have a limit, and at the limit
 * the one that was idle the longest makes room.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, isIPv6, type Server, type Socket } from 'node:net'
import { safely } from '@selvedge/service-kit/safely'
import { type Destination, type OpenPort, openOnEach, type PortParts, shareOf } from './destination.ts'

/** Connections of one port. */
export const maxConnections = 256
/** Milliseconds without a byte after which a connection may be closed for a new one. */
const idleMs = 60_000
/** Milliseconds until a container has to accept a connection. */
const connectMs = 10_000
/** Milliseconds for the last bytes to one side after the other one has closed. */
const closeMs = 10_000
/** Milliseconds until the system checks whether a silent client is still there. */
const keepAliveMs = 60_000

interface Connection {
  readonly client: Socket
  readonly address: string
  usedAt: number
}

/** What a connection calls: when a byte passes, and once when both sides are closed. */
interface Callbacks {
  readonly used: () => void
  readonly end: () => void
}

/** @throws Error of the system if the port cannot be opened */
export async function openTcpPort(parts: PortParts): Promise<OpenPort> {
  const { hosts, port, find, now, room } = parts
  const connections = new Set<Connection>()

  function remove(connection: Connection): void {
    connections.delete(connection)
    room.leave(connection)
  }

  /** Whether there is room for one more connection of an address; may close an idle one. */
  function makeRoom(address: string): boolean {
    const ofAddress = [...connections].filter((each) => each.address === address)
    const isOverShare = ofAddress.length >= shareOf(address, maxConnections)
    if (connections.size < maxConnections && !isOverShare && room.hasPlace()) return true
    const among = isOverShare ? ofAddress : [...connections]
    const oldest = among.toSorted((one, other) => one.usedAt - other.usedAt)[0]
    if (!oldest || now() - oldest.usedAt < idleMs) return false
    oldest.client.destroy()
    remove(oldest)
    return true
  }

  const accept = (client: Socket) => {
    const address = client.remoteAddress ?? ''
    client.on('error', () => undefined)
    if (address === '' || !makeRoom(address)) return client.destroy()
    const connection: Connection = { client, address, usedAt: now() }
    connections.add(connection)
    room.enter(connection)
    const end = () => remove(connection)
    const refuse = () => {
      client.destroy()
      end()
    }
    const used = () => {
      connection.usedAt = now()
    }
    const pass = (destination: Destination) =>
      client.destroyed ? end() : join(client, destination, { used, end })
    find().then(safely('ports.pass', pass, refuse), safely('ports.refuse', refuse))
  }

  async function listen(host: string): Promise<OpenPort> {
    const server: Server = createServer(
      { allowHalfOpen: true, pauseOnConnect: true, noDelay: true },
      safely('ports.accept', accept, (_, client) => client.destroy()),
    )
    server.listen({ host, port, ipv6Only: isIPv6(host), exclusive: true })
    await once(server, 'listening')
    server.on('error', () => undefined)
    return {
      port: (server.address() as AddressInfo).port,
      close: () => {
        server.close()
      },
    }
  }

  const servers = await openOnEach(hosts, listen)
  return {
    port: servers[0]!.port,
    close() {
      for (const each of servers) each.close()
      for (const { client } of connections) client.destroy()
    },
  }
}

/** Connects a client with the container. */
function join(client: Socket, { upstream, used: usedThere }: Destination, { used, end }: Callbacks): void {
  const container = connect({ ...upstream, allowHalfOpen: true, noDelay: true })
  const destroy = safely('ports.destroy', () => {
    reset(client)
    reset(container)
  })
  const connecting = setTimeout(destroy, connectMs)
  let closing: NodeJS.Timeout | undefined
  /** One side is closed: the other one gets what is on its way to it, and is closed, too. */
  const closeOther = (other: Socket) => (hadError: boolean) => {
    clearTimeout(connecting)
    if (other.closed) {
      clearTimeout(closing)
      end()
    } else if (hadError) reset(other)
    else {
      other.destroySoon()
      closing ??= setTimeout(destroy, closeMs)
    }
  }
  container.on('error', () => undefined)
  container.on('close', safely('ports.closed', closeOther(client), destroy))
  client.on('close', safely('ports.closed', closeOther(container), destroy))
  const onData = safely('ports.used', () => {
    used()
    usedThere()
  })
  const pass = () => {
    clearTimeout(connecting)
    client.setKeepAlive(true, keepAliveMs)
    client.on('data', onData)
    container.on('data', onData)
    client.pipe(container)
    container.pipe(client)
  }
  container.once('connect', safely('ports.connected', pass, destroy))
}

/** A program that only reads notices a reset, and no other end of a half-open connection. */
function reset(socket: Socket): void {
  if (socket.connecting || socket.destroyed) socket.destroy()
  else socket.resetAndDestroy()
}
