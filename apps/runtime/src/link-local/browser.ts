/**
 * Listens for services of a type on the local networks (RFC 6762, RFC 6763), with a socket for each interface: what a
 * question goes out on is chosen, and not left to the routes. A peer is of the network that its address is of, since the
 * system hands every socket of the port what comes in on any of them.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import type { Answer, DecodedPacket } from 'dns-packet'
import { decode, encode } from 'dns-packet'
import type { Network } from './networks.ts'

const port = 5353
const groups = { udp4: '224.0.0.251', udp6: 'ff02::fb' } as const
/** Largest packet that is read, in bytes (RFC 6762 § 17), and most services that are remembered. */
const limits = { packet: 9000, services: 1000, records: 200 } as const

/** A service that was heard. */
interface Heard {
  readonly txt: ReadonlyMap<string, string>
  /** Address that it was heard from, without zone. */
  readonly from: string
  /** Its addresses on the network that it was heard on. */
  readonly addresses: readonly string[]
  readonly port: number
  /** Milliseconds of the clock of the browser. */
  readonly heardAt: number
}

interface Entry {
  txt?: ReadonlyMap<string, string>
  port: number
  from: string
  addresses: Set<string>
  heardAt: number
  endsAt: number
}

export interface Browser {
  /** Asks who is there. */
  ask(): void
  services(): Heard[]
  close(): void
}

export interface BrowserParts {
  /** Such as `_selvedge._tcp.local`. */
  readonly type: string
  readonly networks: readonly Network[]
  readonly now: () => number
  readonly onTrouble: (network: string, cause: Error) => void
}

export function openBrowser({ type, networks, now, onTrouble }: BrowserParts): Browser {
  const entries = new Map<string, Entry>()
  const sockets = networks.flatMap((network) => [
    ...network.ipv4.map((address) => open('udp4', network, address)),
    ...(network.hasIpv6 ? [open('udp6', network, `::%${network.name}`)] : []),
  ])
  const question = encode({
    type: 'query',
    questions: [{ type: 'PTR', name: type }],
  })

  function open(
    family: 'udp4' | 'udp6',
    network: Network,
    address: string,
  ): { socket: Socket; isReady: boolean; family: 'udp4' | 'udp6' } {
    const socket = createSocket({ type: family, reuseAddr: true, ipv6Only: family === 'udp6' })
    const entry = { socket, isReady: false, family }
    socket.on('error', (cause) => {
      // An interface that went away: the next look at the networks finds out.
      onTrouble(network.name, cause)
      entry.isReady = false
      try {
        socket.close()
      } catch {
        // Closed already.
      }
    })
    socket.on('message', receive)
    socket.bind(port, () => {
      try {
        socket.addMembership(groups[family], address)
        socket.setMulticastInterface(address)
        socket.setMulticastTTL(255)
        entry.isReady = true
        send(entry)
      } catch (cause) {
        onTrouble(network.name, cause as Error)
      }
    })
    return entry
  }

  function send({ socket, isReady, family }: (typeof sockets)[number]): void {
    if (!isReady) return
    // Without a route there is nobody to hear it.
    socket.send(question, port, groups[family], () => undefined)
  }

  function receive(packet: Buffer, { address, port: from }: RemoteInfo): void {
    const network = networks.find((each) => each.holds(address))
    if (!network || from !== port || packet.length > limits.packet) return
    let message: DecodedPacket
    try {
      message = decode(packet)
    } catch {
      return
    }
    if (message.type !== 'response') return
    const records = [...(message.answers ?? []), ...(message.additionals ?? [])].slice(0, limits.records)
    take(records, network, address)
  }

  function take(records: readonly Answer[], network: Network, source: string): void {
    const from = source.split('%')[0]!
    const key = (instance: string) => `${network.name} ${from} ${instance.toLowerCase()}`
    const isOurs = (name: string) => name.toLowerCase().endsWith(`.${type}`)
    for (const record of records) {
      if (record.type === 'PTR' && record.name.toLowerCase() === type && isOurs(record.data)) {
        if ((record.ttl ?? 0) === 0) entries.delete(key(record.data))
        else entryOf(key(record.data), from).endsAt = now() + record.ttl! * 1000
      }
    }
    for (const record of records) {
      if ((record.type !== 'TXT' && record.type !== 'SRV') || !isOurs(record.name)) continue
      if ((record.ttl ?? 0) === 0) continue
      const entry = entryOf(key(record.name), from)
      entry.heardAt = now()
      entry.endsAt = Math.max(entry.endsAt, now() + record.ttl! * 1000)
      if (record.type === 'TXT') entry.txt = readStrings(record.data)
      else {
        entry.port = record.data.port
        const target = record.data.target.toLowerCase()
        for (const each of records) {
          const isAddress = each.type === 'A' || each.type === 'AAAA'
          if (!isAddress || each.name.toLowerCase() !== target) continue
          const zoned = each.data.startsWith('fe80:') ? `${each.data}%${network.name}` : each.data
          if (network.holds(zoned)) entry.addresses.add(each.data)
        }
      }
    }
  }

  function entryOf(key: string, from: string): Entry {
    let entry = entries.get(key)
    if (!entry) {
      forget()
      entry = { port: 0, from, addresses: new Set([from]), heardAt: now(), endsAt: now() + 120_000 }
      if (entries.size < limits.services) entries.set(key, entry)
    }
    return entry
  }

  function forget(): void {
    for (const [key, { endsAt }] of entries) if (endsAt < now()) entries.delete(key)
  }

  return {
    ask: () => sockets.forEach(send),
    services() {
      forget()
      return [...entries.values()].flatMap(({ txt, from, addresses, port: own, heardAt }) =>
        txt ? [{ txt, from, addresses: [...addresses], port: own, heardAt }] : [],
      )
    },
    close() {
      for (const { socket } of sockets) {
        try {
          socket.close()
        } catch {
          // Closed by its error.
        }
      }
    },
  }
}

/** `key=value` strings; of a key that comes twice the first counts (RFC 6763 § 6.4). */
function readStrings(data: unknown): Map<string, string> {
  const txt = new Map<string, string>()
  for (const each of Array.isArray(data) ? data : [data]) {
    const text = String(each)
    const at = text.indexOf('=')
    const name = text.slice(0, at).toLowerCase()
    if (at > 0 && !txt.has(name)) txt.set(name, text.slice(at + 1))
  }
  return txt
}
