/** The records that this node answers with (RFC 6763): a pointer to its instance, where it is, what it states, its addresses. */
import type { DnsRecord, Message } from './dns.ts'
import type { Network } from './networks.ts'

/** A group of records that are asked for, and sent, together. */
export type Kind = 'types' | 'pointer' | 'service' | 'text' | 'addresses'

/** What an announcement contains. The list of types is shared with other devices: it is sent only in answers to queries for it. */
export const announcedKinds: readonly Kind[] = ['pointer', 'service', 'text', 'addresses']

export interface OwnRecordsParts {
  /** Such as `_selvedge._tcp.local`. */
  readonly type: string
  /** Label of the instance, and of the host. Both carry the node ID: no other node has a right to them. */
  readonly instance: string
  readonly host: string
  readonly port: number
  /** Strings of the TXT record. */
  readonly txt: (network: Network) => readonly string[]
}

export interface OwnRecords {
  /** Full names. */
  readonly instance: string
  readonly host: string
  of(kind: Kind, network: Network): DnsRecord[]
  /** The kinds of records that a query requests. */
  askedFor(query: Message): ReadonlySet<Kind>
  /** Whether a record has one of our names and content of another device: our own interfaces may hear each other (RFC 6762 § 9). */
  contradicts(record: DnsRecord, networks: readonly Network[]): boolean
}

/** Seconds for which records are valid (RFC 6762 § 10). */
const ttl = { host: 120, other: 4500 } as const
const everyType = '_services._dns-sd._udp.local'

export function createOwnRecords({ type, port, txt, ...labels }: OwnRecordsParts): OwnRecords {
  const instance = `${labels.instance}.${type}`
  const host = `${labels.host}.local`
  const make: Record<Kind, (network: Network) => DnsRecord[]> = {
    types: () => [{ name: everyType, type: 'PTR', data: type, ttl: ttl.other, flush: false }],
    pointer: () => [{ name: type, type: 'PTR', data: instance, ttl: ttl.other, flush: false }],
    service: () => [
      { name: instance, type: 'SRV', data: { port, target: host }, ttl: ttl.host, flush: true },
    ],
    text: (network) => [{ name: instance, type: 'TXT', data: txt(network), ttl: ttl.other, flush: true }],
    addresses: ({ addresses }) =>
      addresses.map((data) => ({
        name: host,
        type: data.includes(':') ? 'AAAA' : 'A',
        data,
        ttl: ttl.host,
        flush: true,
      })),
  }
  const isName = (name: string, own: string) => name.toLowerCase() === own.toLowerCase()

  /** Whether the querier has our pointer for long enough still (§ 7.1). */
  const knowsUs = ({ answers }: Message): boolean =>
    answers.some((each) => each.type === 'PTR' && isName(each.data, instance) && each.ttl > ttl.other / 2)

  return {
    instance,
    host,
    of: (kind, network) => make[kind](network),
    askedFor(query) {
      const kinds = new Set<Kind>()
      for (const { name, type: asked } of query.questions) {
        const wants = (...types: string[]) => asked === 'ANY' || types.includes(asked)
        if (isName(name, everyType) && wants('PTR')) kinds.add('types')
        if (isName(name, type) && wants('PTR')) kinds.add('pointer')
        if (isName(name, instance) && wants('SRV')) kinds.add('service')
        if (isName(name, instance) && wants('TXT')) kinds.add('text')
        if (isName(name, host) && wants('A', 'AAAA')) kinds.add('addresses')
      }
      if (kinds.has('pointer') && knowsUs(query)) kinds.delete('pointer')
      return kinds
    },
    contradicts(record, networks) {
      if (record.ttl === 0) return false
      if (record.type === 'SRV' && isName(record.name, instance))
        return record.data.port !== port || !isName(record.data.target, host)
      if ((record.type !== 'A' && record.type !== 'AAAA') || !isName(record.name, host)) return false
      return !networks.some(({ addresses }) => addresses.includes(record.data))
    },
  }
}
