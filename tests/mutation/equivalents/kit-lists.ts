// biome-ignore-all lint/suspicious/noTemplateCurlyInString: lines of sources are text here
/** Of what the services share: lists of revoked tokens and of addresses, and the lock of a folder. */
import { type Equivalent, of } from './equivalent.ts'

const kit = 'packages/service-kit/src'
const splitHasOne = 'split returns at least one part'
const otherIsIpv6 = 'BlockList reads each family but ipv4 as ipv6'
const readsAsZero = 'what parseInt cannot read is 0 for the operators of bits'

export const kitLists: readonly Equivalent[] = [
  ...of(
    `${kit}/revocations/live-lists.ts`,
    [
      'if (!own || own.revoked.size + own.endings.size === 0) return undefined',
      'own.revoked.size + own.endings.size === 0 → false',
      'it saves the search of an empty list',
    ],
    [
      'if (!known) entries.set(claims, (known = new Map()))',
      '!known → true',
      'it saves hashing the same names again',
    ],
    [
      'if (entry === undefined) known.set(key, (entry = revocationEntry(kind, subject)))',
      'entry === undefined → true',
      'it saves hashing the same names again',
    ],
    [
      "if (kind === 'id') return own.revoked.has(entry) ? { notBefore: 0 } : undefined",
      '{ notBefore: 0 } → {}',
      'of a token or a sign-in only whether there is an ending decides',
    ],
  ),
  ...of(
    `${kit}/addresses/address-set.ts`,
    [
      "const [, net = '', digits] = /^([\\da-fA-F.:]+)(?:\\/(\\d{1,3}))?$/.exec(text) ?? []",
      '\'\' → "Stryker was here!"',
      'neither text is an IP address',
    ],
    [
      "const [, net = '', digits] = /^([\\da-fA-F.:]+)(?:\\/(\\d{1,3}))?$/.exec(text) ?? []",
      '[] → ["Stryker was here"]',
      'the first part is not read',
    ],
    [
      'if (entries.length === 0) return { includes: () => false }',
      'entries.length === 0 → false',
      'an empty BlockList includes nothing',
    ],
    [
      "return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6')",
      'version !== 0 → true',
      'BlockList includes nothing that is no address',
    ],
    [
      "return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6')",
      '\'ipv6\' → ""',
      otherIsIpv6,
    ],
  ),
  ...of(
    `${kit}/addresses/addresses.ts`,
    ["const [net = '', bits] = block.split('/')", '\'\' → "Stryker was here!"', splitHasOne],
    [
      "if (embedding.check(address, 'ipv6')) return kindOf(embeddedIn(address))",
      '\'ipv6\' → ""',
      otherIsIpv6,
    ],
    ["const found = kinds.find(({ list }) => list.check(address, 'ipv6'))", '\'ipv6\' → ""', otherIsIpv6],
    [
      "return found?.kind ?? (unicast.check(address, 'ipv6') ? 'public' : 'special')",
      '\'ipv6\' → ""',
      otherIsIpv6,
    ],
    [
      "const [high = '0', low = '0'] = new URL(`http://[${address}]`).hostname.slice(1, -1).split(':').slice(-2)",
      '\'0\' → ""',
      'an address has at least two parts',
    ],
    [
      "const [high = '0', low = '0'] = new URL(`http://[${address}]`).hostname.slice(1, -1).split(':').slice(-2)",
      'new URL(`http://[${address}]`).hostname.slice(1, -1) → new URL(`http://[${address}]`).hostname',
      'parseInt stops at the bracket',
    ],
    [
      "const bits = ((Number.parseInt(high || '0', 16) << 16) | Number.parseInt(low || '0', 16)) >>> 0",
      '\'0\' → ""',
      readsAsZero,
    ],
  ),
  ...of(`${kit}/store/folder-lock.ts`, [
    'const database = new DatabaseSync(file, { timeout: 0 })',
    '{ timeout: 0 } → {}',
    'it is the default of Node, and stated because the lock depends on it',
  ]),
]
