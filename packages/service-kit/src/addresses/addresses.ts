/**
 * Where an IP address leads, and a DNS lookup that gives no address that may not be connected to. The address that is checked
 * is the address that is connected to: a name that changes its address between the two (DNS rebinding) gains nothing.
 */
import type { LookupAddress } from 'node:dns'
import { lookup as lookupName } from 'node:dns/promises'
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net'
import { safely } from '../safely/safely.ts'
import {
  type BlockKind,
  embeddingBlocks,
  globalUnicast,
  metadataBlocks,
  specialPurpose,
} from './special-purpose.ts'

/** `public`: an ordinary host of the Internet. `metadata`: answers with credentials of a machine in a cloud. */
export type AddressKind = BlockKind | 'metadata' | 'public'

/** IPv4 networks that are not public, in CIDR notation: they do not overlap. */
export const specialIpv4Blocks: readonly string[] = specialPurpose
  .map(([block]) => block)
  .filter((block) => !block.includes(':'))

/** IPv4 addresses of the kind `metadata`. */
export const metadataIpv4Addresses: readonly string[] = metadataBlocks
  .filter((block) => !block.includes(':'))
  .map((block) => block.replace(/\/.*/, ''))

/** Resolves a host name to at least one address; rejects if the name has no address. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>

export const resolveName: Resolve = (hostname) => lookupName(hostname, { all: true })

const listOf = (blocks: readonly string[]): BlockList => {
  const list = new BlockList()
  for (const block of blocks) {
    const [net = '', bits] = block.split('/')
    list.addSubnet(net, Number(bits), isIPv6(net) ? 'ipv6' : 'ipv4')
  }
  return list
}

interface Blocks {
  readonly kinds: readonly { readonly kind: AddressKind; readonly list: BlockList }[]
  readonly unicast: BlockList
  readonly embedding: BlockList
}

/** Blocks by kind. Made for the first address that is looked up, since it costs 5 ms, a tenth of a start. */
const blocks = makeAtFirstUse(
  (): Blocks => ({
    kinds: [
      // Within blocks of other kinds.
      { kind: 'metadata', list: listOf(metadataBlocks) },
      ...(['loopback', 'link-local', 'private', 'special'] as const).map((kind) => ({
        kind,
        list: listOf(specialPurpose.filter((each) => each[1] === kind).map(([block]) => block)),
      })),
    ],
    unicast: listOf([globalUnicast]),
    embedding: listOf(embeddingBlocks),
  }),
)

function makeAtFirstUse<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

/**
 * The kind of an IPv4 or IPv6 address. An IPv6 address that embeds an IPv4 address (mapped, NAT64) has the kind of that address.
 *
 * @param address without brackets; with a zone, as in `fe80::1%eth0`, it is `link-local`
 */
export function kindOf(address: string): AddressKind {
  if (isIP(address) === 0) return 'special'
  if (address.includes('%')) return 'link-local'
  const { kinds, unicast, embedding } = blocks()
  if (!isIPv6(address)) return kinds.find(({ list }) => list.check(address, 'ipv4'))?.kind ?? 'public'
  if (embedding.check(address, 'ipv6')) return kindOf(embeddedIn(address))
  const found = kinds.find(({ list }) => list.check(address, 'ipv6'))
  return found?.kind ?? (unicast.check(address, 'ipv6') ? 'public' : 'special')
}

/** The last 32 bits of an IPv6 address as IPv4. The URL parser writes every spelling of an address in one form. */
function embeddedIn(address: string): string {
  const [high = '0', low = '0'] = new URL(`http://[${address}]`).hostname.slice(1, -1).split(':').slice(-2)
  const bits = ((Number.parseInt(high || '0', 16) << 16) | Number.parseInt(low || '0', 16)) >>> 0
  return [bits >>> 24, (bits >>> 16) & 255, (bits >>> 8) & 255, bits & 255].join('.')
}

/** An address that a host name resolves to, or that a URL names, and that may not be connected to. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError'
}

/**
 * A `lookup` for `net.connect` and `http.request` that gives only addresses that may be connected to. Node calls it for host
 * names only: addresses in a URL are for the caller to check.
 *
 * @param mayConnect decides by the address
 * @param resolve for tests
 * @param hint what to do about a refusal
 */
export function guardedLookup(
  mayConnect: (address: string) => boolean,
  resolve: Resolve = resolveName,
  hint = '',
): LookupFunction {
  return (hostname, options, callback) => {
    const refuse = safely('addresses.refuse', (cause: unknown) => callback(cause as Error, '', 0))
    const answer = safely(
      'addresses.answer',
      (found: Awaited<ReturnType<Resolve>>) => {
        const allowed = found.filter(({ address }) => mayConnect(address))
        const [first] = allowed
        if (first === undefined) {
          const { address } = found[0] ?? { address: 'no address' }
          const why = `${hostname} resolves to ${address}, which is not public${hint && `; ${hint}`}`
          callback(new AddressRefusedError(why), '', 0)
        } else if (options.all) callback(null, [...allowed])
        else callback(null, first.address, first.family)
      },
      refuse,
    )
    resolve(hostname).then(answer, refuse)
  }
}
