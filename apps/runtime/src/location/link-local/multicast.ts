/**
 * The multicast DNS of the local networks (RFC 6762): a socket for each link, so that what goes out on which network is
 * chosen, and not left to the routes. What comes in is foreign: each packet has to be on-link, within the budget of its
 * sender and of all senders, and about us, before it is decoded.
 */
import type { RemoteInfo } from 'node:dgram'
import { createBudget } from './budget.ts'
import { decodeMessage, encodeMessage, type Message } from './dns.ts'
import { type LinkSocket, multicastPort, openLinkSocket, type Trouble } from './link-socket.ts'
import type { Link, Network } from './networks.ts'

/** Largest packet that is read, in bytes (RFC 6762 § 17). */
const maxPacketBytes = 9000
/** A packet that is about us spells one of these names. All others cost this search, and no more. */
const aboutUs = /selvedge|_dns-sd/i
/** Packets that are decoded. Neighbours of the own account have a separate budget, so that no flood uses it up. */
const received = {
  strangers: { each: { burst: 40, perSecond: 20 }, all: { burst: 400, perSecond: 200 } },
  sealed: { each: { burst: 40, perSecond: 20 }, all: { burst: 2000, perSecond: 1000 } },
}
/** Unicast answers: a question with a forged sender sends one to a host that did not ask, and it is larger. */
const unicast = { each: { burst: 5, perSecond: 2 }, all: { burst: 20, perSecond: 10 } }

type Outgoing = Parameters<typeof encodeMessage>[0]

/** Where a message came from. */
export interface Origin {
  readonly network: Network
  /** Without zone. */
  readonly address: string
  /** Answers a querier that does not listen to the group (RFC 6762 § 6.7); undefined for one that does. */
  readonly replyAlone: ((message: Outgoing) => void) | undefined
}

export interface Multicast {
  /** Opens the sockets: from here on there are messages. */
  open(listeners: MulticastListeners): void
  /** @param network all of them by default */
  send(message: Outgoing, network?: Network): void
  close(): void
}

export interface MulticastParts {
  readonly networks: readonly Network[]
  /** Whether an address is one of a neighbour of the own account. */
  readonly isSealed: (network: Network, address: string) => boolean
  /** Called when a packet about us was dropped because a budget is used up. */
  readonly onDropped: () => void
  readonly onTrouble: (trouble: Trouble) => void
}

interface MulticastListeners {
  readonly onMessage: (message: Message, origin: Origin) => void
  /** Called for each network that packets may be sent on (again). */
  readonly onReady: (network: Network) => void
}

export function createMulticast(parts: MulticastParts): Multicast {
  const budgets = {
    strangers: createBudget(received.strangers),
    sealed: createBudget(received.sealed),
    unicast: createBudget(unicast),
  }

  let sockets: readonly LinkSocket[] = []

  function receive(
    socket: LinkSocket,
    packet: Buffer,
    { address: source, port }: RemoteInfo,
    onMessage: MulticastListeners['onMessage'],
  ): void {
    // Port 0 cannot be answered.
    if (port === 0 || packet.length > maxPacketBytes) return
    // The system hands each packet to every socket of the port: only the first one on the link of the sender reads it.
    if (sockets.find((each) => each.isReady() && each.link.holds(source)) !== socket) return
    if (!aboutUs.test(packet.toString('latin1'))) return
    const { network } = socket
    const address = source.split('%')[0]!
    const budget = parts.isSealed(network, address) ? budgets.sealed : budgets.strangers
    if (!budget.take(source)) {
      parts.onDropped()
      return
    }
    const message = decoded(packet)
    if (!message) return
    const replyAlone = (answer: Outgoing) => {
      if (budgets.unicast.take(source)) socket.sendTo(encodeMessage(answer), port, source)
    }
    onMessage(message, {
      network,
      address,
      replyAlone: port === multicastPort ? undefined : replyAlone,
    })
  }

  function open(network: Network, link: Link, { onMessage, onReady }: MulticastListeners): LinkSocket {
    const socket = openLinkSocket({
      network,
      link,
      onPacket: (packet, source) => receive(socket, packet, source, onMessage),
      onReady: () => onReady(network),
      onTrouble: parts.onTrouble,
    })
    return socket
  }

  return {
    open(listeners) {
      sockets = parts.networks.flatMap((network) =>
        network.links.map((link) => open(network, link, listeners)),
      )
    },
    send(message, network) {
      const packet = encodeMessage(message)
      for (const socket of sockets) if (!network || socket.network === network) socket.send(packet)
    },
    close() {
      for (const socket of sockets) socket.close()
    },
  }
}

/** Undefined if the packet is not a DNS message. */
function decoded(packet: Buffer): Message | undefined {
  try {
    return decodeMessage(packet)
  } catch {
    return undefined
  }
}
