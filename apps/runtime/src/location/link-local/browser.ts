/**
 * Stores the nodes that announce themselves on the local networks. Everything here is foreign and most of it can be
 * forged, sender included. So there are two kinds: neighbours of the own account, which prove it by their seal, and strangers.
 * No stranger takes room from a neighbour, changes it or removes it; and strangers have little room.
 */
import type { Announcement, Statement } from './announcement.ts'
import type { Message } from './dns.ts'
import type { Origin } from './multicast.ts'
import type { Network } from './networks.ts'

/** An announcement that was received. Times are milliseconds of the monotonic clock. */
export interface Heard extends Announcement {
  /** Name of the network. */
  readonly network: string
  /** Address that it came from, without zone. */
  readonly from: string
  readonly firstAt: number
  readonly heardAt: number
}

interface Entry extends Heard {
  readonly endsAt: number
}

export interface Browser {
  /** Reads a message; records of other services are ignored. */
  receive(message: Message, origin: Origin): void
  /** Whether a neighbour of the own account announced itself from this address. */
  isSealed(network: Network, address: string): boolean
  /** Packets had to be dropped: for a while, silence does not mean that a neighbour is gone. */
  missed(): void
  /** Removes everything that was received on other networks than these. */
  retain(networks: readonly Network[]): void
  services(): readonly Heard[]
}

/** Entries: of strangers by sender and by network, of neighbours by sender and in all. And TXT records read of one packet. */
const max = {
  strangers: { sender: 8, all: 100 },
  sealed: { sender: 16, all: 1000 },
  packet: 4,
} as const
/**
 * Milliseconds: the longest life of an entry, whatever its TTL (three queries), and of a neighbour while packets are dropped;
 * and the time within which a node has answered a query.
 */
const life = { longest: 180_000, overload: 600_000, answered: 65_000 } as const

/**
 * @param type such as `_selvedge._tcp.local`
 * @param read reads the strings of a TXT record; must not throw
 */
export function createBrowser(
  type: string,
  read: (strings: readonly string[], from: string) => Announcement | undefined,
): Browser {
  const entries = new Map<string, Entry>()
  /** `network address` of every neighbour of the own account. */
  let sealedSenders = new Set<string>()
  let missedAt = Number.NEGATIVE_INFINITY
  const isOurs = (name: string) => name.toLowerCase().endsWith(`.${type}`)

  function isOver({ statement, endsAt, heardAt }: Entry): boolean {
    const held = statement ? Math.min(missedAt + life.longest, heardAt + life.overload) : endsAt
    return Math.max(endsAt, held) < performance.now()
  }

  function forget(isGone: (entry: Entry) => boolean): void {
    const { size } = entries
    for (const [key, entry] of entries) if (isGone(entry)) entries.delete(key)
    if (entries.size === size) return
    const sealed = [...entries.values()].filter(({ statement }) => statement)
    sealedSenders = new Set(sealed.map(({ network, from }) => `${network} ${from}`))
  }

  /** Makes room for a new entry. @returns false if there is no room */
  function makeRoom(statement: Statement | undefined, network: string, from: string): boolean {
    forget(isOver)
    const rivals = [...entries].filter(([, each]) =>
      statement ? each.statement : !each.statement && each.network === network,
    )
    const limits = statement ? max.sealed : max.strangers
    const own = rivals.filter(([, each]) => each.network === network && each.from === from).length
    if (own >= limits.sender) return false
    if (rivals.length < limits.all) return true
    const least = statement ? undefined : (newestOfMostCrowded(rivals, own + 1) ?? longestSilent(rivals))
    if (least !== undefined) entries.delete(least)
    return least !== undefined
  }

  function keep(
    announcement: Announcement,
    { network: { name: network }, address: from }: Origin,
    ttl: number,
  ): void {
    const { nodeId, statement } = announcement
    const key = `${network} ${from} ${nodeId}`
    const known = entries.get(key)
    if (known?.statement && !statement) return
    if (ttl === 0) {
      const isGoodbye = !known?.statement || (statement?.isLeaving && statement.run === known.statement.run)
      if (known && isGoodbye) forget((each) => each === known)
      return
    }
    if (statement?.isLeaving) return
    const isNew = !known || (statement !== undefined && !known.statement)
    if (isNew && !makeRoom(statement, network, from)) return
    const heardAt = performance.now()
    const endsAt = heardAt + Math.min(ttl * 1000, life.longest)
    entries.set(key, {
      nodeId,
      statement,
      network,
      from,
      firstAt: known?.firstAt ?? heardAt,
      heardAt,
      endsAt,
    })
    if (statement) sealedSenders.add(`${network} ${from}`)
  }

  return {
    receive({ isResponse, answers, additionals }, origin) {
      // A sender that is not at the port of the group is no responder (RFC 6762 § 11).
      if (!isResponse || origin.replyAlone) return
      let left: number = max.packet
      for (const record of [...answers, ...additionals]) {
        if (record.type !== 'TXT' || !isOurs(record.name)) continue
        if (left-- === 0) return
        const announcement = read(record.data, origin.address)
        if (announcement) keep(announcement, origin, record.ttl)
      }
    },
    isSealed: ({ name }, address) => sealedSenders.has(`${name} ${address}`),
    missed() {
      missedAt = performance.now()
    },
    retain(networks) {
      const names = new Set(networks.map(({ name }) => name))
      forget(({ network }) => !names.has(network))
    },
    services() {
      forget(isOver)
      return [...entries.values()]
    },
  }
}

/** The entry that was silent for the longest time, if it did not answer the last query. */
function longestSilent(rivals: readonly (readonly [string, Entry])[]): string | undefined {
  const [first] = [...rivals].sort(([, a], [, b]) => a.heardAt - b.heardAt)
  return first && performance.now() - first[1].heardAt > life.answered ? first[0] : undefined
}

/** The newest entry of the sender with the most, if it has more than a newcomer would have. */
function newestOfMostCrowded(
  rivals: readonly (readonly [string, Entry])[],
  more: number,
): string | undefined {
  const bySender = new Map<string, string[]>()
  for (const [key, { from }] of rivals) bySender.set(from, [...(bySender.get(from) ?? []), key])
  const [most = []] = [...bySender.values()].sort((a, b) => b.length - a.length)
  return most.length > more ? most.at(-1) : undefined
}
