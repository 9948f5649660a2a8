// biome-ignore-all lint/suspicious/noTemplateCurlyInString: lines of sources are text here
/** Of headers of requests, and of writers to slow readers. */
import { type Equivalent, of } from './equivalent.ts'

const http = 'packages/service-kit/src/http'
const moves = 'it moves what waits within the memory; what is written is the same'
const compaction = 'if (first > 1000 && first * 2 > waiting.length) {'
const pattern = '/^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}$/'
const format = `const format = ${pattern}`
const sameLength = 'what matches has 55 characters, and so has the text'
const parts = 'const [, traceId, spanId] = (value.length === 55 && format.exec(value)) || []'
const link = 'return traceId !== undefined && spanId !== undefined ? { traceId, spanId } : undefined'
const both = 'a match has both parts'

export const requests: readonly Equivalent[] = [
  ...of(
    `${http}/bounded-writer.ts`,
    [compaction, 'first > 1000 && first * 2 > waiting.length → true', moves],
    [compaction, 'first > 1000 && first * 2 > waiting.length → false', moves],
    [
      compaction,
      'first > 1000 && first * 2 > waiting.length → first > 1000 || first * 2 > waiting.length',
      moves,
    ],
    [compaction, 'first > 1000 → true', moves],
    [compaction, 'first > 1000 → first >= 1000', moves],
    [compaction, 'first > 1000 → first <= 1000', moves],
    [compaction, 'first * 2 > waiting.length → true', moves],
    [compaction, 'first * 2 > waiting.length → first * 2 >= waiting.length', moves],
  ),
  ...of(
    `${http}/request-id.ts`,
    ["let random = ''", '\'\' → "Stryker was here!"', 'it is replaced before the first ID'],
    [
      'if (count++ === lastCount) {',
      'count++ === lastCount → true',
      'new random bits for each ID cost time alone',
    ],
    [
      'return found !== undefined && acceptable.test(found) ? found : undefined',
      'found !== undefined → true',
      'what is returned is undefined in both cases',
    ],
  ),
  ...of(
    `${http}/traceparent.ts`,
    [format, `${pattern} → ${pattern.replace('^', '')}`, sameLength],
    [format, `${pattern} → ${pattern.replace('$', '')}`, sameLength],
    [parts, 'value.length === 55 → true', 'it saves the search in what is too long'],
    [parts, '[] → ["Stryker was here"]', 'neither list has a second and a third element'],
    [
      link,
      'traceId !== undefined && spanId !== undefined → traceId !== undefined || spanId !== undefined',
      both,
    ],
    [link, 'traceId !== undefined → true', both],
    [link, 'spanId !== undefined → true', both],
  ),
]
