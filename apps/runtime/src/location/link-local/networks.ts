/** The networks that this device is on. */
import { networkInterfaces } from 'node:os'

/** One address family on one interface, which gets its own socket. */
export interface Link {
  readonly family: 'udp4' | 'udp6'
  /** Selects the interface: an IPv4 address, or `::%name`. */
  readonly address: string
  /** Whether a peer's address, with zone as sockets report it, is on this link. */
  holds(address: string): boolean
}

export interface Network {
  readonly name: string
  /** Addresses without zone; those that announcements are sent from come first. */
  readonly addresses: readonly string[]
  readonly links: readonly Link[]
}

/** @param wanted names of interfaces; empty: every one but the loopback */
export function currentNetworks(wanted: readonly string[]): Network[] {
  return Object.entries(networkInterfaces()).flatMap(([name, list = []]) => {
    const all = list.filter(({ internal }) => !internal)
    if (all.length === 0 || (wanted.length > 0 && !wanted.includes(name))) return []
    const ipv4 = all.filter(({ family }) => family === 'IPv4')
    const ipv6 = all.filter(({ family }) => family === 'IPv6').map(({ address }) => address)
    const links = ipv4.map(({ address, netmask }) => linkOf(address, netmask))
    if (ipv6.length > 0) links.push(localLinkOf(name))
    const local = ipv6.filter(isLocal)
    const addresses = new Set([...ipv4.map(({ address }) => address), ...local, ...ipv6])
    return { name, addresses: [...addresses], links }
  })
}

/** Whether an address without zone is on one of the links of a network. */
export const holds = ({ name, links }: Network, address: string): boolean =>
  links.some((link) => link.holds(isLocal(address) ? `${address}%${name}` : address))

/** The link of an IPv4 address: its subnet. */
export function linkOf(address: string, netmask: string): Link {
  const mask = toNumber(netmask)
  const subnet = toNumber(address) & mask
  return {
    family: 'udp4',
    address,
    holds: (peer) => !peer.includes(':') && (toNumber(peer) & mask) === subnet,
  }
}

const localLinkOf = (name: string): Link => ({
  family: 'udp6',
  address: `::%${name}`,
  holds: (peer) => isLocal(peer) && peer.endsWith(`%${name}`),
})

const isLocal = (address: string): boolean => address.startsWith('fe80:')

/** Whether two lists have the same networks with the same addresses. */
export const isSame = (a: readonly Network[], b: readonly Network[]): boolean => describe(a) === describe(b)

const describe = (networks: readonly Network[]): string =>
  JSON.stringify(networks.map(({ name, addresses }) => [name, [...addresses].sort()]).sort())

const toNumber = (address: string): number =>
  address.split('.').reduce((number, part) => (number << 8) | Number(part), 0)
