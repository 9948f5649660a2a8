/** Where the packets of a container may lead, from `MCM.OUTBOUND` and what the owner of the device allows. IPv4 only. */
import { BlockList, isIPv4 } from 'node:net'
import { type Ipv4Range, type OutboundEntry, outboundWords, readOutboundEntry } from '@selvedge/protocol'
import { kindOf, specialIpv4Blocks } from '@selvedge/service-kit/addresses'

export interface AddressRange {
  /** An address, or a network such as `10.1.2.0/24`. */
  readonly network: string
  readonly ports: readonly number[]
}

export interface Destinations {
  /** All public addresses, on all ports. */
  readonly isPublic: boolean
  /** Host names, with their ports: they lead to the public addresses that the resolver of the runtime answers. */
  readonly names: ReadonlyMap<string, readonly number[]>
  /** What of these is public. */
  readonly ranges: readonly AddressRange[]
  /** Not public, and allowed by the owner of the device. */
  readonly local: readonly AddressRange[]
  /** Entries that packets do not reach. */
  readonly refused: readonly string[]
}

/** Entries that lead to rules; the rest is refused. */
const maxEntries = 256

/** @param entries without words but `public` @param allowed not public networks that the owner of the device allows */
export function readDestinations(entries: readonly string[], allowed: readonly Ipv4Range[]): Destinations {
  const names = new Map<string, readonly number[]>()
  const ranges: AddressRange[] = []
  const local: AddressRange[] = []
  const refused: string[] = []
  const wanted = new Set(entries.filter((each) => each !== outboundWords.public))
  for (const [at, entry] of [...wanted].entries()) {
    const read = readOutboundEntry(entry)
    const range = rangeOf(read)
    if (at >= maxEntries || read.ports.length === 0 || read.host.startsWith('[')) refused.push(entry)
    else if (!range) names.set(read.host, [...new Set([...(names.get(read.host) ?? []), ...read.ports])])
    else if (range.hasPublic) ranges.push({ network: range.network, ports: read.ports })
    else {
      const ports = range.isNever ? [] : read.ports.filter((port) => isAllowed(range, port, allowed))
      if (ports.length > 0) local.push({ network: range.network, ports })
      if (ports.length < read.ports.length) refused.push(entry)
    }
  }
  return { isPublic: entries.includes(outboundWords.public), names, ranges, local, refused }
}

interface Range {
  /** As given, with the first address of a network. */
  readonly network: string
  readonly first: string
  readonly last: string
  /** It is not within one block of addresses that are not public. */
  readonly hasPublic: boolean
  /** Services never reach it: see `neverReached`. */
  readonly isNever: boolean
}

/** @returns undefined for a host name */
function rangeOf({ host }: OutboundEntry): Range | undefined {
  const [address = '', bits = '32'] = host.split('/')
  if (!isIPv4(address)) return undefined
  const size = 2 ** (32 - Number(bits))
  const start = Math.floor(toNumber(address) / size) * size
  const [first, last] = [toAddress(start), toAddress(start + size - 1)]
  const isSpecial = specialIpv4Blocks.some((block) => isWithin({ first, last }, block))
  const isNever = [first, last].some((each) => ['link-local', 'metadata'].includes(kindOf(each)))
  const network = host.includes('/') ? `${first}/${bits}` : first
  return { network, first, last, hasPublic: !isSpecial && !(first === last && isNever), isNever }
}

type Ends = Pick<Range, 'first' | 'last'>

/** Whether a network has the whole range. */
function isWithin({ first, last }: Ends, network: string): boolean {
  const [net = '', bits = '32'] = network.split('/')
  const list = new BlockList()
  list.addSubnet(net, Number(bits), 'ipv4')
  return list.check(first, 'ipv4') && list.check(last, 'ipv4')
}

const toNumber = (address: string): number =>
  address.split('.').reduce((sum, each) => sum * 256 + Number(each), 0)
const toAddress = (number: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.')

/** Whether one allowed network has the whole range. */
const isAllowed = (range: Range, port: number, allowed: readonly Ipv4Range[]): boolean =>
  allowed.some((each) => (each.port === undefined || each.port === port) && isWithin(range, each.network))
