/**
 * Announces one service on the local networks, and answers who asks for it (RFC 6762 §§ 6, 8 to 10; RFC 6763). Its name is
 * looked for first; where somebody has it, another one is taken.
 */
import type { DnsRecord, Message } from './dns.ts'
import type { Multicast, Origin } from './multicast.ts'
import type { Network } from './networks.ts'

export interface ResponderParts {
  readonly multicast: Multicast
  readonly networks: readonly Network[]
  /** Such as `_selvedge._tcp.local`. */
  readonly type: string
  /** Name of the instance, and of the host; a number is put after both where somebody has one of them. */
  readonly instance: string
  readonly host: string
  readonly port: number
}

export interface Responder {
  /** @param txt strings of the TXT record; what was announced before is replaced */
  announce(txt: readonly string[]): void
  receive(message: Message, origin: Origin): void
  /** Says goodbye. */
  close(): void
}

/** Seconds for which records are good (RFC 6762 § 10), and of those for one who does not listen (§ 6.7). */
const ttl = { host: 120, other: 4500, alone: 10 } as const
/** Milliseconds between probes, between announcements, and between two answers with the same on one network (§§ 6, 8). */
const times = { probe: 250, announce: 1000, again: 1000 } as const
const probes = 3
const everyType = '_services._dns-sd._udp.local'

export function createResponder({
  multicast,
  networks,
  type,
  instance,
  host,
  port,
}: ResponderParts): Responder {
  let number = 1
  let txt: readonly string[] = []
  let state: 'probing' | 'announced' | 'closed' | 'silent' = 'silent'
  let timer: NodeJS.Timeout | undefined
  const answeredAt = new Map<string, number>()
  const pending = new Set<string>()

  const suffix = () => (number === 1 ? '' : ` (${number})`)
  const ownName = () => `${instance}${suffix()}.${type}`
  const ownHost = () => `${host}${number === 1 ? '' : `-${number}`}.local`

  const pointer = (seconds: number = ttl.other): DnsRecord => ({
    name: type,
    type: 'PTR',
    data: ownName(),
    ttl: seconds,
    flush: false,
  })
  const service = (): DnsRecord => ({
    name: ownName(),
    type: 'SRV',
    data: { port, target: ownHost() },
    ttl: ttl.host,
    flush: true,
  })
  const text = (): DnsRecord => ({ name: ownName(), type: 'TXT', data: txt, ttl: ttl.other, flush: true })
  const addresses = (network: Network): DnsRecord[] =>
    network.addresses.map((address) => ({
      name: ownHost(),
      type: address.includes(':') ? ('AAAA' as const) : ('A' as const),
      data: address,
      ttl: ttl.host,
      flush: true,
    }))
  const all = (network: Network) => [pointer(), service(), text(), ...addresses(network)]

  /** Asks three times whether somebody has the names, and announces them twice where nobody does. */
  function probe(left: number): void {
    if (state === 'closed') return
    state = 'probing'
    if (left === 0) {
      tell(2)
      return
    }
    const questions = [ownName(), ownHost()].map((name) => ({ name, type: 'ANY' as const }))
    for (const network of networks)
      multicast.send(
        { isResponse: false, questions, authorities: [service(), ...addresses(network)] },
        network,
      )
    timer = setTimeout(() => probe(left - 1), times.probe)
  }

  function tell(left: number): void {
    if (state === 'closed' || left === 0) return
    state = 'announced'
    for (const network of networks) multicast.send({ isResponse: true, answers: all(network) }, network)
    timer = setTimeout(() => tell(left - 1), times.announce)
  }

  /** Whether a record of ours is said by somebody else, with other content (RFC 6762 § 9). */
  function isConflict(record: DnsRecord, { address, network }: Origin): boolean {
    if (network.addresses.includes(address) || record.ttl === 0) return false
    const name = record.name.toLowerCase()
    if (record.type === 'SRV' && name === ownName().toLowerCase())
      return record.data.port !== port || record.data.target.toLowerCase() !== ownHost().toLowerCase()
    const isAddress = record.type === 'A' || record.type === 'AAAA'
    return isAddress && name === ownHost().toLowerCase() && !network.addresses.includes(record.data)
  }

  function answersFor({ questions, answers: known }: Message, network: Network): DnsRecord[] {
    const wanted = new Map<string, DnsRecord>()
    const add = (record: DnsRecord) =>
      wanted.set(`${record.type} ${record.name} ${JSON.stringify(record.data)}`, record)
    for (const { name, type: kind } of questions) {
      const asked = name.toLowerCase()
      const is = (each: DnsRecord['type']) => kind === each || kind === 'ANY'
      // Whoever has it for long enough still, need not be told (§ 7.1).
      const isKnown = known.some(
        (each) =>
          each.type === 'PTR' &&
          each.data.toLowerCase() === ownName().toLowerCase() &&
          each.ttl > ttl.other / 2,
      )
      if (asked === type.toLowerCase() && is('PTR') && !isKnown) add(pointer())
      if (asked === everyType && is('PTR'))
        add({ name: everyType, type: 'PTR', data: type, ttl: ttl.other, flush: false })
      if (asked === ownName().toLowerCase() && is('SRV')) add(service())
      if (asked === ownName().toLowerCase() && is('TXT')) add(text())
      if (asked === ownHost().toLowerCase())
        for (const each of addresses(network)) if (is(each.type)) add(each)
    }
    return [...wanted.values()]
  }

  return {
    announce(strings) {
      txt = strings
      clearTimeout(timer)
      if (state === 'announced') tell(2)
      else if (state !== 'closed') probe(probes)
    },

    receive(message, origin) {
      if (state === 'closed' || state === 'silent') return
      const { network, replyAlone } = origin
      if (message.isResponse) {
        if (![...message.answers, ...message.additionals].some((each) => isConflict(each, origin))) return
        number++
        clearTimeout(timer)
        probe(probes)
        return
      }
      if (state !== 'announced') return
      const answers = answersFor(message, network)
      if (answers.length === 0) return
      const isPointer = answers.some((each) => each.type === 'PTR' && each.name === type)
      const additionals = isPointer ? [service(), text(), ...addresses(network)] : []
      if (replyAlone) {
        const brief = (each: DnsRecord) => ({ ...each, ttl: ttl.alone, flush: false })
        return replyAlone({
          id: message.id,
          isResponse: true,
          questions: message.questions,
          answers: answers.map(brief),
          additionals: additionals.map(brief),
        })
      }
      const key = `${network.name} ${answers.map(({ type: kind, name }) => `${kind} ${name}`).join()}`
      if (pending.has(key)) return
      pending.add(key)
      // The same is not said twice within a second; and many may answer for a type, and should not do so at once (§ 6).
      const earliest = (answeredAt.get(key) ?? Number.NEGATIVE_INFINITY) + times.again - performance.now()
      const wait = Math.max(0, earliest) + (isPointer ? 20 + Math.random() * 100 : 0)
      setTimeout(() => {
        pending.delete(key)
        answeredAt.set(key, performance.now())
        if (state === 'announced') multicast.send({ isResponse: true, answers, additionals }, network)
      }, wait)
    },

    close() {
      clearTimeout(timer)
      if (state === 'announced') multicast.send({ isResponse: true, answers: [pointer(0)] })
      state = 'closed'
    },
  }
}
