/**
 * The blocks of IANA's special-purpose address registries, and those of the address architecture itself. Every block is listed,
 * also those that are marked as globally reachable: they contain no ordinary host of the Internet.
 *
 * Sources: https://www.iana.org/assignments/iana-ipv4-special-registry and …/iana-ipv6-special-registry as last updated on
 * 2024-10-22, with 100:0:0:1::/64 (RFC 9780, 2025); multicast from iana-multicast-addresses and RFC 4291.
 */

/** Which addresses a block holds: of this machine, of its link, of a network that is not public, or of no host that serves. */
export type BlockKind = 'loopback' | 'link-local' | 'private' | 'special'

export const specialPurpose: readonly (readonly [block: string, kind: BlockKind])[] = [
  ['0.0.0.0/8', 'special'], // RFC 791: this network; connects to this machine
  ['10.0.0.0/8', 'private'], // RFC 1918
  ['100.64.0.0/10', 'private'], // RFC 6598: shared address space
  ['127.0.0.0/8', 'loopback'], // RFC 1122
  ['169.254.0.0/16', 'link-local'], // RFC 3927
  ['172.16.0.0/12', 'private'], // RFC 1918
  ['192.0.0.0/24', 'special'], // RFC 6890: IETF protocol assignments, with all blocks in it
  ['192.0.2.0/24', 'special'], // RFC 5737: documentation
  ['192.31.196.0/24', 'special'], // RFC 7535: AS112
  ['192.52.193.0/24', 'special'], // RFC 7450: AMT
  ['192.88.99.0/24', 'special'], // RFC 7526: 6to4 relay, deprecated
  ['192.168.0.0/16', 'private'], // RFC 1918
  ['192.175.48.0/24', 'special'], // RFC 7534: AS112
  ['198.18.0.0/15', 'special'], // RFC 2544: benchmarking
  ['198.51.100.0/24', 'special'], // RFC 5737: documentation
  ['203.0.113.0/24', 'special'], // RFC 5737: documentation
  ['224.0.0.0/4', 'special'], // RFC 5771: multicast
  ['240.0.0.0/4', 'special'], // RFC 1112: reserved, with the limited broadcast
  ['::/96', 'special'], // RFC 4291: unspecified, and IPv4-compatible, deprecated
  ['::1/128', 'loopback'], // RFC 4291
  ['::ffff:0:0:0/96', 'special'], // RFC 2765: IPv4-translated
  ['64:ff9b:1::/48', 'special'], // RFC 8215: NAT64 of one network
  ['100::/64', 'special'], // RFC 6666: discard
  ['100:0:0:1::/64', 'special'], // RFC 9780: dummy prefix
  // RFC 2928: IETF protocol assignments, with Teredo (RFC 4380), AMT, AS112, ORCHID and DRIP.
  ['2001::/23', 'special'],
  ['2001:db8::/32', 'special'], // RFC 3849: documentation
  ['2002::/16', 'special'], // RFC 3056: 6to4, deprecated by RFC 7526
  ['2620:4f:8000::/48', 'special'], // RFC 7534: AS112
  ['3fff::/20', 'special'], // RFC 9637: documentation
  ['5f00::/16', 'special'], // RFC 9602: SRv6 segment identifiers
  ['fc00::/7', 'private'], // RFC 4193: unique local
  ['fe80::/10', 'link-local'], // RFC 4291
  ['fec0::/10', 'private'], // RFC 3879: site-local, deprecated
  ['ff00::/8', 'special'], // RFC 4291: multicast
]

/** Hosts of the public Internet have addresses of this block only (RFC 4291 § 2.4). */
export const globalUnicast = '2000::/3'

/** IPv6 addresses that stand for the IPv4 address in their last 32 bits: mapped (RFC 4291), and NAT64 (RFC 6052). */
export const embeddingBlocks = ['::ffff:0:0/96', '64:ff9b::/96']

/** Addresses at which clouds answer with credentials of the machine, beside those of the link. */
export const metadataBlocks: readonly string[] = [
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  'fd00:ec2::254/128',
]
