/** Of the tokens of the protocol. */
import { type Equivalent, of } from './equivalent.ts'

const splitHasOne = 'split returns at least one part'

const tokens = 'packages/protocol/src/tokens'

export const protocolTokens: readonly Equivalent[] = [
  ...of(
    `${tokens}/kinds.ts`,
    ["const [header = ''] = text.split('.', 1)", '\'\' → "Stryker was here!"', splitHasOne],
    [
      'if (!bytes) return undefined',
      '!bytes → false',
      'no bytes are no JSON, which returns undefined as well',
    ],
    ['} catch {', '{ return undefined } → {}', 'a function without a return returns undefined'],
  ),
  ...of(`${tokens}/open-token.ts`, [
    "throw new TokenError(cause.reason, '', { found, typ: profile.typ, needed: describeNeeded(profile.typ) })",
    '\'\' → "Stryker was here!"',
    'the message of a wrong kind is made of both kinds',
  ]),
  ...of(`${tokens}/authorization.ts`, [
    'if (!header) return undefined',
    '!header → false',
    'the pattern matches neither an empty text nor "null" and "undefined"',
  ]),
  ...of(
    `${tokens}/base64url.ts`,
    ['while (bits >= 6) {', 'bits >= 6 → bits > 6', 'the last six bits are written after the loop'],
    [
      'for (let at = 0; at < 64; at++) values[alphabet.charCodeAt(at)] = at',
      'at < 64 → at <= 64',
      'a typed array ignores the index NaN',
    ],
  ),
  ...of(`${tokens}/used-proofs.ts`, [
    'if (count === 0) this.#perOwner.delete(owner)',
    'count === 0 → false',
    'an owner without proofs counts 0, stored or not; the entry is removed to free its memory',
  ]),
]
