// biome-ignore-all lint/suspicious/noTemplateCurlyInString: lines of sources are text here
/** Of the runtime's gateway. */
import { type Equivalent, of } from './equivalent.ts'

const services = 'apps/runtime/src/services'
const allBytes = 'the part up to the end, or beyond it, is all bytes; the comparison saves a view of them'
const partLine = 'const part = bytes.length <= this.#left ? bytes : bytes.subarray(0, this.#left)'
const part: readonly (readonly [line: string, change: string, reason: string])[] = [
  [partLine, 'bytes.length <= this.#left → false', allBytes],
  [partLine, 'bytes.length <= this.#left → bytes.length < this.#left', allBytes],
]
const shortName = 'the length saves the conversion to lower case; a name of another length is another name'
const slashFirst = 'a target with ? as its first character does not begin with a slash, which refuses it'
const plainPath = 'it saves the work for a path without dot segments, which stays as it is'

export const gateway: readonly Equivalent[] = [
  ...of(
    `${services}/gateway/chunked-body.ts`,
    ...part,
    ...['true', 'rest.length >= 0'].map(
      (replacement) =>
        [
          'while (!this.isComplete && rest.length > 0) {',
          `rest.length > 0 → ${replacement}`,
          'a step without bytes reads nothing, which ends the loop',
        ] as const,
    ),
  ),
  ...of(`${services}/gateway/headers.ts`, [
    "if (raw[at]!.length !== 10 || raw[at]!.toLowerCase() !== 'connection') continue",
    'raw[at]!.length !== 10 → false',
    shortName,
  ]),
  ...of(
    `${services}/gateway/path.ts`,
    ['const raw = at < 0 ? target : target.slice(0, at)', 'at < 0 → at <= 0', slashFirst],
    ["const query = at < 0 ? '' : target.slice(at)", 'at < 0 → at <= 0', slashFirst],
    ...["!raw.includes('%') && !raw.includes('/.') → false", '\'%\' → ""', '\'/.\' → ""'].map(
      (change) =>
        [
          "if (!raw.includes('%') && !raw.includes('/.')) return { path: raw, query }",
          change,
          plainPath,
        ] as const,
    ),
  ),
  ...of(
    `${services}/gateway/response-head.ts`,
    [
      "const [, minor, code, message = ''] = statusLine.exec(lines[0]!) ?? []",
      '[] → ["Stryker was here"]',
      'the first entry is not read',
    ],
    [
      'encoding = encoding === undefined ? value.toLowerCase() : `${encoding},${value}`',
      '`${encoding},${value}` → ``',
      'no text but "chunked" is accepted',
    ],
    [
      "if (name.length === 14 && name.toLowerCase() === 'content-length') {",
      'name.length === 14 → true',
      shortName,
    ],
    [
      "} else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') {",
      'name.length === 17 → true',
      shortName,
    ],
    [
      "} else if (name.length === 10 && name.toLowerCase() === 'connection') {",
      'name.length === 10 → true',
      shortName,
    ],
  ),
  ...of(
    `${services}/gateway/response-reader.ts`,
    ...part,
    ['#isPersistent = false', 'false → true', 'the head sets it before it is read'],
    [
      'const isTooLarge = this.#bytes >= maxHeadBytes + headEnd.length',
      'maxHeadBytes + headEnd.length → maxHeadBytes - headEnd.length',
      'the pieces are joined eight bytes earlier, and findEnd decides whether they are too large',
    ],
  ),
]
