/**
 * Rules of the packet filter (nftables) in the network namespace of a container. They are set before its program starts, and hold while
 * the runtime is down. No program of the container can change them: that needs `NET_ADMIN` in the user namespace of the network.
 */
import { metadataIpv4Addresses, specialIpv4Blocks } from '@selvedge/service-kit/addresses'
import type { AddressRange, Destinations } from './destinations.ts'

/** Address of the name server in `/etc/resolv.conf` of the container. It is of no network (RFC 5737): the rules lead it to the resolver. */
export const nameServer = '192.0.2.53'

/** New connections per second, and at once: each is an entry in a table that all programs of the device share. */
const newConnections = { perSecond: 200, burst: 400 }
/** Addresses with ports that names have opened. */
export const maxOpened = 4096
/** Addresses of members: of each one its present instance and the next one, for a moment. */
const maxMembers = 256
const table = 'ip selvedge'

export interface RuleParts {
  readonly destinations: Destinations
  /** Address of this device in the network of the container. */
  readonly gateway: string
  /** UDP port of the resolver at that address. */
  readonly resolverPort: number
}

const setOf = (items: readonly (string | number)[]): string => `{ ${items.join(', ')} }`

/** Never reached, not even if it is listed and allowed. */
const never = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '240.0.0.0/4',
  ...metadataIpv4Addresses,
]

const accept = ({ network, ports }: AddressRange): string =>
  `ip daddr ${network} meta l4proto { tcp, udp } th dport ${setOf(ports)} accept`

/** A script for `nft -f`. Applied again, it replaces the rules, closes members, and leaves open what names have opened. */
export function rulesOf({ destinations, gateway, resolverPort }: RuleParts): string {
  const { isPublic, ranges, local } = destinations
  const output = [
    'oif lo accept',
    'ct state established,related accept',
    `ct state new limit rate over ${newConnections.perSecond}/second burst ${newConnections.burst} packets drop`,
    `ip daddr ${gateway} udp dport ${resolverPort} accept`,
    // Of the members of its app, whatever MCM.OUTBOUND is.
    'ip daddr @members meta l4proto { tcp, udp } accept',
    `ip daddr ${setOf(never)} drop`,
    ...local.map(accept),
    `ip daddr ${setOf(specialIpv4Blocks)} reject with icmp type admin-prohibited`,
    ...ranges.map(accept),
    'ip daddr . th dport @opened meta l4proto { tcp, udp } accept',
    ...(isPublic ? ['meta l4proto { tcp, udp } accept'] : []),
    'reject with icmp type admin-prohibited',
  ]
  // The runtime connects from its address in the network. What others send to the container does not pass the gateway.
  const input = ['iif lo accept', 'ct state established,related accept', `ip saddr ${gateway} accept`]
  const chains = {
    output: 'type filter hook output priority 0; policy drop;',
    input: 'type filter hook input priority 0; policy drop;',
    forward: 'type filter hook forward priority 0; policy drop;',
    names: 'type nat hook output priority -100; policy accept;',
  }
  const rules = {
    output,
    input,
    forward: [],
    names: [`ip daddr ${nameServer} udp dport 53 dnat to ${gateway}:${resolverPort}`],
  }
  return [
    `add table ${table}`,
    `add set ${table} opened { type ipv4_addr . inet_service; flags timeout; size ${maxOpened}; }`,
    `add set ${table} members { type ipv4_addr; size ${maxMembers}; }`,
    // Those that run are opened again.
    `flush set ${table} members`,
    ...Object.entries(chains).map(([name, type]) => `add chain ${table} ${name} { ${type} }`),
    ...Object.keys(chains).map((name) => `flush chain ${table} ${name}`),
    ...Object.entries(rules).flatMap(([name, all]) => all.map((rule) => `add rule ${table} ${name} ${rule}`)),
    // IPv6 is turned off in the container.
    'add table ip6 selvedge',
    ...['output', 'input', 'forward'].map(
      (hook) => `add chain ip6 selvedge ${hook} { type filter hook ${hook} priority 0; policy drop; }`,
    ),
    '',
  ].join('\n')
}

/** An address and a port that a name has opened. */
export interface Opening {
  readonly address: string
  readonly port: number
}

/** A script that opens addresses, or opens them for longer. @param seconds for which they are open */
export function openingOf(openings: readonly Opening[], seconds: number): string {
  const elements = openings.map(({ address, port }) => `${address} . ${port}`)
  const timed = elements.map((each) => `${each} timeout ${seconds}s`)
  // To add an element again changes nothing about its timeout.
  return [
    `add element ${table} opened ${setOf(timed)}`,
    `delete element ${table} opened ${setOf(elements)}`,
    `add element ${table} opened ${setOf(timed)}`,
    '',
  ].join('\n')
}

/** A script that lets packets pass to another member. @param address IPv4, which is not open yet */
export const openingMember = (address: string): string => `add element ${table} members { ${address} }\n`

/** A script that closes what `openingMember` opened. */
export const closingMember = (address: string): string => `delete element ${table} members { ${address} }\n`
