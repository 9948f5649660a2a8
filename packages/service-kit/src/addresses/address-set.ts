/** IP addresses and networks of a configuration, such as those of trusted proxies. */
import { BlockList, isIP } from 'node:net'

export interface AddressSet {
  /** @param address an IP address without brackets; what is no address is never in the set */
  includes(address: string): boolean
}

/** @returns the parts of `10.0.0.1` or `10.0.0.0/8`; undefined for a text that is neither an IP address nor a network */
function readNetwork(text: string): { net: string; bits: number; family: 'ipv4' | 'ipv6' } | undefined {
  const [, net = '', digits] = /^([\da-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const version = isIP(net)
  const most = version === 4 ? 32 : 128
  const bits = digits === undefined ? most : Number(digits)
  if (version === 0 || bits > most) return undefined
  return { net, bits, family: version === 4 ? 'ipv4' : 'ipv6' }
}

/** Whether a text is an IP address or a network in CIDR notation (RFC 4632), such as `10.0.0.0/8`. */
export const isAddressOrNetwork = (text: string): boolean => readNetwork(text) !== undefined

/** @param entries IP addresses and networks; others are ignored */
export function createAddressSet(entries: readonly string[]): AddressSet {
  if (entries.length === 0) return { includes: () => false }
  const list = new BlockList()
  for (const { net, bits, family } of entries.flatMap((each) => readNetwork(each) ?? []))
    list.addSubnet(net, bits, family)
  return {
    includes(address) {
      const version = isIP(address)
      return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6')
    },
  }
}
