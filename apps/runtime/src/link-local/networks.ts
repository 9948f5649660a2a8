/** The networks that this device is on. */
import { networkInterfaces } from 'node:os'

export interface Network {
  readonly name: string
  /** Addresses without zone. */
  readonly addresses: readonly string[]
  readonly ipv4: readonly string[]
  readonly hasIpv6: boolean
  /** Whether an address, as a socket tells it, is of this network. */
  holds(address: string): boolean
}

/** @param wanted names of interfaces; empty: every one but the loopback */
export function currentNetworks(wanted: readonly string[]): Network[] {
  return Object.entries(networkInterfaces()).flatMap(([name, list = []]) => {
    const all = list.filter(({ internal }) => !internal)
    if (all.length === 0 || (wanted.length > 0 && !wanted.includes(name))) return []
    const ipv4 = all.filter(({ family }) => family === 'IPv4')
    const holds = (address: string) => {
      if (address.includes(':')) return address.startsWith('fe80:') && address.endsWith(`%${name}`)
      return ipv4.some((own) => sharesSubnet(own.address, own.netmask, address))
    }
    return {
      name,
      addresses: all.map(({ address }) => address),
      ipv4: ipv4.map(({ address }) => address),
      hasIpv6: all.some(({ family }) => family === 'IPv6'),
      holds,
    }
  })
}

/** Whether an IPv4 address is on the network of another one. */
export function sharesSubnet(own: string, netmask: string, address: string): boolean {
  const mask = toNumber(netmask)
  return (toNumber(own) & mask) === (toNumber(address) & mask)
}

/** Whether two lists are of the same networks with the same addresses. */
export const isSame = (a: readonly Network[], b: readonly Network[]): boolean => describe(a) === describe(b)

const describe = (networks: readonly Network[]): string =>
  JSON.stringify(networks.map(({ name, addresses }) => [name, [...addresses].sort()]).sort())

const toNumber = (address: string): number =>
  address.split('.').reduce((number, part) => (number << 8) | Number(part), 0)
