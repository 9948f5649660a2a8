/**
 * The multicast DNS of the local networks (RFC 6762): a socket for each interface and family, so that what goes out on which
 * network is chosen, and not left to the routes. A peer is of the network that its address is of, since the system hands
 * every socket of the port what comes in on any of them.
 */
import type { RemoteInfo, Socket } from 'node:dgram'
import { decodeMessage, encodeMessage, type Message } from './dns.ts'
import type { Network } from './networks.ts'

const port = 5353
const groups = { udp4: '224.0.0.251', udp6: 'ff02::fb' } as const
/** Largest packet that is read, in bytes (RFC 6762 § 17). */
const largest = 9000
/** Milliseconds within which the same from the same sender is the same. */
const sameWithin = 50

type Outgoing = Parameters<typeof encodeMessage>[0]

/** Where a message came from. */
export interface Origin {
  readonly network: Network
  /** Without zone. */
  readonly address: string
  /** Answers one who does not listen to the group (RFC 6762 § 6.7); undefined where he does. */
  readonly replyAlone: ((message: Outgoing) => void) | undefined
}

export interface Multicast {
  /** @param network all of them where it is left out */
  send(message: Outgoing, network?: Network): void
  close(): void
}

export interface MulticastParts {
  readonly networks: readonly Network[]
  readonly onMessage: (message: Message, origin: Origin) => void
  /** Called for each socket that is ready to send. */
  readonly onReady: (network: Network) => void
  readonly onTrouble: (network: string, cause: Error) => void
}

interface Line {
  readonly network: Network
  readonly family: 'udp4' | 'udp6'
  readonly socket: Socket
  isReady: boolean
}

/** Loaded when it is needed: a start does not wait for it. */
const dgram = () => process.getBuiltinModule('node:dgram')

export function openMulticast({ networks, onMessage, onReady, onTrouble }: MulticastParts): Multicast {
  /** What came over several sockets at once is one packet. */
  let last: { packet: Buffer; from: string; at: number } | undefined

  function open(family: Line['family'], network: Network, address: string): Line {
    const socket = dgram().createSocket({ type: family, reuseAddr: true, ipv6Only: family === 'udp6' })
    const line: Line = { network, family, socket, isReady: false }
    socket.on('error', (cause) => {
      // An interface that went away: the next look at the networks finds out.
      onTrouble(network.name, cause)
      end(line)
    })
    socket.on('message', (packet, info) => receive(line, packet, info))
    socket.bind(port, () => {
      try {
        socket.addMembership(groups[family], address)
        socket.setMulticastInterface(address)
        socket.setMulticastTTL(255)
        line.isReady = true
        onReady(network)
      } catch (cause) {
        onTrouble(network.name, cause as Error)
      }
    })
    return line
  }

  function receive(line: Line, packet: Buffer, { address: source, port: from }: RemoteInfo): void {
    const network = networks.find((each) => each.holds(source))
    if (!network || packet.length > largest) return
    const origin = `${source} ${from}`
    const at = performance.now()
    if (last?.from === origin && at - last.at < sameWithin && last.packet.equals(packet)) return
    last = { packet, from: origin, at }
    let message: Message
    try {
      message = decodeMessage(packet)
    } catch {
      return
    }
    const replyAlone = (answer: Outgoing) =>
      line.socket.send(encodeMessage(answer), from, source, () => undefined)
    onMessage(message, {
      network,
      address: source.split('%')[0]!,
      replyAlone: from === port ? undefined : replyAlone,
    })
  }

  function end(line: Line): void {
    line.isReady = false
    try {
      line.socket.close()
    } catch {
      // Closed already.
    }
  }

  const lines = networks.flatMap((network) => [
    ...network.ipv4.map((address) => open('udp4', network, address)),
    ...(network.hasIpv6 ? [open('udp6', network, `::%${network.name}`)] : []),
  ])

  return {
    send(message, network) {
      const packet = encodeMessage(message)
      for (const line of lines) {
        if (!line.isReady || (network && line.network !== network)) continue
        // Without a route there is nobody to hear it.
        line.socket.send(packet, port, groups[line.family], () => undefined)
      }
    },
    close: () => lines.forEach(end),
  }
}
