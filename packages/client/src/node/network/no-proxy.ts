/** Which hosts are reached without the proxy, in the notation of `NO_PROXY` as Go and curl read it. */
import { BlockList, isIP } from 'node:net'
import { hostOf, portOf } from './host-of.ts'

/** Decides by the host and port of a URL. */
export type Matches = (url: URL) => boolean

const bare = (url: URL): string => hostOf(url).replace(/\.$/, '')

/** A BlockList compares an IPv6 address that embeds an IPv4 address with IPv4 networks, too. */
function networkOf(net: string, bits: number): BlockList {
  const list = new BlockList()
  list.addSubnet(net, bits, isIP(net) === 6 ? 'ipv6' : 'ipv4')
  return list
}

const inside = (list: BlockList, address: string): boolean =>
  isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** @returns undefined if the text is neither an address nor a network, perhaps with a port */
function readNetwork(text: string): Matches | undefined {
  const [, bracketed, plain, digits, port] =
    /^(?:\[([\da-f:.]+)\]|([\da-f:.]+?))(?:\/(\d{1,3}))?(?::(\d{1,5}))?$/i.exec(text) ?? []
  // Without brackets, the last colon of an IPv6 address is no start of a port.
  const isIpv6 = isIP(text) === 6
  const net = isIpv6 ? text : (bracketed ?? plain ?? '')
  const most = { 4: 32, 6: 128 }[isIP(net)]
  const bits = digits === undefined || isIpv6 ? most : Number(digits)
  if (most === undefined || bits === undefined || bits > most) return undefined
  const list = networkOf(net, bits)
  const own = isIpv6 ? undefined : port
  return (url) => inside(list, bare(url)) && (own === undefined || Number(own) === portOf(url))
}

/**
 * One entry: `*` (all hosts), `example.com` (the host and those below it), `.example.com` or `*.example.com` (only those below
 * it), an IP address, or a network such as `10.0.0.0/8`. Except for `*`, a port may follow: `example.com:8443`.
 *
 * @returns undefined if the text has another form
 */
export function readNoProxyEntry(text: string): Matches | undefined {
  if (text === '*') return () => true
  const network = readNetwork(text)
  if (network) return network
  const [, wildcard, name, port] =
    /^(\*?\.)?([a-z\d_-]+(?:\.[a-z\d_-]+)*)\.?(?::(\d{1,5}))?$/i.exec(text) ?? []
  // Digits and dots that are no address match nothing that a URL can name.
  if (name === undefined || text.length > 300 || /^[\d.]+$/.test(name)) return undefined
  const host = name.toLowerCase()
  return (url) => {
    const given = bare(url)
    const isHost = given.endsWith(`.${host}`) || (wildcard === undefined && given === host)
    return isHost && (port === undefined || Number(port) === portOf(url))
  }
}

/** Hosts that no proxy can reach for this machine: itself, and the link that it is on. */
const local = [networkOf('127.0.0.0', 8), networkOf('169.254.0.0', 16), networkOf('fe80::', 10)]
const localAddresses = new Set(['0.0.0.0', '::', '::1'])

/** Whether a URL leads to this machine, or to an address that exists only on its own link. */
export function isLocal(url: URL): boolean {
  const host = bare(url)
  if (host === 'localhost' || host.endsWith('.localhost') || localAddresses.has(host)) return true
  return local.some((list) => inside(list, host))
}
