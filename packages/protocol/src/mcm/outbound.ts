/** Where a service may connect to: the value of `MCM.OUTBOUND`. */

/** A host, address or network of the list, with the ports of it. */
export interface OutboundEntry {
  /** In lower case: a host name, an address (IPv6 in brackets), or an IPv4 network such as `10.1.2.0/24`. */
  readonly host: string
  readonly ports: readonly number[]
}

/** Words that stand alone for many hosts, or for no host. */
export const outboundWords = { public: 'public', none: 'none' } as const

/** Ports of an entry without a port. */
const webPorts = [80, 443]

const hostPattern = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/
const rangePattern = /^(\d{1,3}(?:\.\d{1,3}){3})(?:\/(\d{1,2}))?(?::([1-9]\d{0,4}))?$/

/** An IPv4 address or network, such as `10.1.2.0/24`. */
export interface Ipv4Range {
  readonly network: string
  /** Undefined: all. */
  readonly port: number | undefined
}

/** @returns undefined for a text that is not an IPv4 address or network, with or without a port */
export function readIpv4Range(text: string): Ipv4Range | undefined {
  const [, address = '', bits, digits] = rangePattern.exec(text) ?? []
  const port = digits === undefined ? undefined : Number(digits)
  if (address === '' || Number(bits ?? 32) > 32 || (port ?? 1) > 65_535) return undefined
  if (!address.split('.').every((each) => Number(each) < 256)) return undefined
  return { network: bits === undefined ? address : `${address}/${bits}`, port }
}

const isNetwork = (text: string): boolean => text.includes('/') && readIpv4Range(text) !== undefined

/**
 * @returns the entries in lower case, `["none"]` for the text "none"; undefined for a text with an invalid entry. An absent setting is
 * an empty list: see {@link outboundOf}
 */
export function readOutbound(text: string): readonly string[] | undefined {
  const parts = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((each) => each !== '')
  if (parts.length === 0) return [outboundWords.none]
  if (parts.includes(outboundWords.none) && parts.length > 1) return undefined
  return parts.every((each) => hostPattern.test(each) || isNetwork(each)) ? parts : undefined
}

/**
 * What a service may connect to.
 *
 * @param listed value of the setting
 * @param kind without the setting, OCI containers reach public addresses, and functions nothing
 * @returns entries, `public` is for all public addresses; empty: nothing
 */
export function outboundOf(listed: readonly string[], kind: 'function' | 'oci'): readonly string[] {
  if (listed.length === 0) return kind === 'oci' ? [outboundWords.public] : []
  return listed[0] === outboundWords.none ? [] : listed
}

/** The host and the ports of an entry other than `public`. A port that no program can have is left out. */
export function readOutboundEntry(entry: string): OutboundEntry {
  const [, host = entry, port] = /^(.*?)(?::(\d{1,5}))?$/.exec(entry) ?? []
  if (port === undefined) return { host, ports: webPorts }
  const number = Number(port)
  return { host, ports: number > 0 && number < 65_536 ? [number] : [] }
}
