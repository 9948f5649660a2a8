// biome-ignore-all lint/suspicious/noTemplateCurlyInString: lines of sources are text here
/** Of what the services share: the guard of requests, and tokens. */
import { type Equivalent, of } from './equivalent.ts'

const kit = 'packages/service-kit/src'
const splitHasOne = 'split returns at least one part'

export const guard = of(
  `${kit}/http/guard.ts`,
  [
    'const headers: GuardedHeaders = {',
    '{ host: undefined, origin: undefined, referer: undefined, fetchSite: undefined, contentType: undefin … → {}',
    'a member that is absent reads as undefined; all are named so that the objects have one shape',
  ],
  [
    'if (!lengths.has(raw.length)) continue',
    '!lengths.has(raw.length) → false',
    'it saves the conversion to lower case; a name of another length is not in the list',
  ],
  [
    'if (ownOrigins.has(page)) return true',
    'ownOrigins.has(page) → false',
    'it saves the parsing of a referrer that is an origin',
  ],
  [
    'const [start] = /^https?:\\/\\/[^/\\\\?#]{1,300}(?=[/\\\\?#]|$)/i.exec(page) ?? []',
    '[] → ["Stryker was here"]',
    'the text is no URL, like the undefined in its place',
  ],
  [
    'const url = start === undefined ? null : URL.parse(start)',
    'start === undefined → false',
    'URL.parse(undefined) is null',
  ],
)

const keyTokens = `${kit}/tokens`
const zeroIsRefused = 'an r or s of 0 is written in another form, and refused in each'

export const guardedRequests: readonly Equivalent[] = [
  ...of(
    `${kit}/http/get-guarded-json.ts`,
    [
      "const { status, body } = await send(url, { method: 'GET', headers: {} })",
      "{ method: 'GET', headers: {} } → {}",
      'a request without a method is a GET',
    ],
    [
      "const { status, body } = await send(url, { method: 'GET', headers: {} })",
      '\'GET\' → ""',
      'a request without a method is a GET',
    ],
  ),
  ...of(`${kit}/http/guarded-fetch.ts`, [
    'const answer = await send(url, { method, headers, ...(text !== undefined && { body: text }) })',
    'text !== undefined → true',
    'a body that is undefined is no body',
  ]),
  ...of(
    `${kit}/http/guarded-request.ts`,
    [
      ": ['public', ...(allowsPrivate ? (['loopback', 'private'] as const) : [])]",
      '[] → ["Stryker was here"]',
      'no address is of this kind',
    ],
    [
      "const host = url.hostname.replace(/^\\[|\\]$/g, '')",
      '/^\\[|\\]$/g → /\\[|\\]$/g',
      'the host of a URL has brackets at its ends only',
    ],
    [
      "const host = url.hostname.replace(/^\\[|\\]$/g, '')",
      '/^\\[|\\]$/g → /^\\[|\\]/g',
      'the host of a URL has brackets at its ends only',
    ],
  ),
]

export const serviceTokens: readonly Equivalent[] = [
  ...of(
    `${keyTokens}/dpop.ts`,
    [
      '...(nonce !== undefined && { nonce }),',
      'nonce !== undefined → true',
      'JSON leaves out a member that is undefined',
    ],
    ["const [time = '', mac = ''] = text.split('.', 2)", '\'\' → "Stryker was here!"', splitHasOne],
    [
      "const [time = '', mac = ''] = text.split('.', 2)",
      '\'\' → "Stryker was here!"',
      'a seal has 22 characters, so neither text is one',
    ],
  ),
  ...of(
    `${keyTokens}/es256.ts`,
    ['while (start < end - 1 && bytes[start] === 0) start++', 'start < end - 1 → true', zeroIsRefused],
    [
      'while (start < end - 1 && bytes[start] === 0) start++',
      'start < end - 1 → start <= end - 1',
      zeroIsRefused,
    ],
    ['while (start < end - 1 && bytes[start] === 0) start++', 'end - 1 → end + 1', zeroIsRefused],
  ),
  ...of(
    `${keyTokens}/recent-map.ts`,
    [
      'if (this.#half === 0) return undefined',
      'this.#half === 0 → false',
      'it saves the search in a map that stores nothing',
    ],
    ['if (this.#half === 0) return', 'this.#half === 0 → false', 'what is stored then is never found'],
  ),
  ...of(`${keyTokens}/remote-issuer.ts`, [
    'let lastWasGood = false',
    'false → true',
    'it is read after the first fetch, which sets it',
  ]),
  ...of(
    `${keyTokens}/sealed-bytes.ts`,
    [
      "const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12), { authTagLength: 16 })",
      '{ authTagLength: 16 } → {}',
      'what is shorter than nonce and tag is refused before',
    ],
    ['} catch {', '{ return undefined } → {}', 'a function without a return returns undefined'],
  ),
  ...of(
    `${keyTokens}/session.ts`,
    [
      'if (inner.length < block + 3 * text.length) inner = Buffer.alloc(block + 3 * text.length)',
      'inner.length < block + 3 * text.length → true',
      'it saves memory that is long enough',
    ],
    [
      'if (inner.length < block + 3 * text.length) inner = Buffer.alloc(block + 3 * text.length)',
      'inner.length < block + 3 * text.length → inner.length <= block + 3 * text.length',
      'it saves memory that is long enough',
    ],
    [
      'for (let at = 0; at < block; at++) {',
      'at < block → at <= block',
      'the text or the digest is written over the byte after the block',
    ],
    [
      "check({ authorization = '', method, path, body }) {",
      '\'\' → "Stryker was here!"',
      'neither text begins with the scheme',
    ],
    [
      "const [ticket = '', at = '', shown = ''] = authorization.slice(scheme.length).split('.', 3)",
      '\'\' → "Stryker was here!"',
      'without the second part there is no third one, which is refused',
    ],
  ),
]
