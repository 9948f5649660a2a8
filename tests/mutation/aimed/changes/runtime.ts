/** The runtime: gateway, services, images, and the local network. */
import type { Change } from '../change.ts'

const gateway = 'apps/runtime/src/services/gateway'
const containers = 'apps/runtime/src/services/containers'
const images = 'apps/runtime/src/services/images'

export const runtimeChanges: readonly Change[] = [
  {
    file: `${gateway}/headers.ts`,
    from: "(lower === 'authorization' && !forwardToken)",
    to: "(lower === 'authorization' && forwardToken)",
    breaks: 'a service gets the token of its caller only where its owner chose that',
    tests: [`${gateway}/headers.test.ts`],
  },
  {
    file: `${gateway}/origin-wide.ts`,
    from: 'originWideFields.has(name) ||',
    to: "name === 'clear-site-data' ||",
    breaks: 'response headers that act on the whole origin are removed',
    tests: [`${gateway}/origin-wide.test.ts`],
  },
  {
    file: `${gateway}/path.ts`,
    from: "if (decoded === '..')",
    to: "if (segment === '..')",
    breaks: 'an encoded ".." leads to the folder above before the path is compared',
    tests: [`${gateway}/path.test.ts`],
  },
  {
    file: `${gateway}/chunked-body.ts`,
    from: "if (bytes[0] !== 13 || bytes[1] !== 10) throw new BrokenResponse('a chunk is longer than its size')\n",
    to: '',
    breaks: 'a chunk that is longer than its size is refused',
    tests: [`${gateway}/chunked-body.test.ts`],
  },
  {
    file: `${gateway}/egress.ts`,
    from: "listed === undefined ? given === '80' || given === '443' : listed === given",
    to: 'listed === undefined || listed === given',
    breaks: 'a host without a port in the list allows the ports 80 and 443 only',
    tests: [`${gateway}/egress.test.ts`],
  },
  {
    file: `${gateway}/egress.ts`,
    from: "(address) => kindOf(address) === 'public'",
    to: '() => true',
    breaks: 'a name that leads to a private address is not called for a function',
    tests: [`${gateway}/egress.test.ts`],
  },
  {
    file: `${containers}/path-owners.ts`,
    from: 'isAtOrBelow(one, other) || isAtOrBelow(other, one)',
    to: 'isAtOrBelow(one, other)',
    breaks: 'no project deploys above the path of another one',
    tests: [`${containers}/path-owners.test.ts`],
  },
  {
    file: `${images}/layer.ts`,
    from: "if (type === 'CharacterDevice' || type === 'BlockDevice')",
    to: "if (type === 'CharacterDevice')",
    breaks: 'a layer with a block device is refused',
    tests: [`${images}/layer.test.ts`],
  },
  {
    file: `${images}/layer.ts`,
    from: "if (target === '..' || target.startsWith('../../')) {",
    to: "if (target.startsWith('../../../../')) {",
    breaks: 'a layer with a link that leads out of it is refused',
    tests: [`${images}/layer.test.ts`],
  },
  {
    file: `${images}/budget.ts`,
    from: 'if (left < 0)',
    to: 'if (left < -maxSize)',
    breaks: 'an image that unpacks to more than the limit is refused',
    tests: [`${images}/budget.test.ts`],
  },
  {
    file: `${images}/blobs.ts`,
    from: 'if (expected !== undefined && digest !== expected) {',
    to: 'if (expected === "") {',
    breaks: 'content with another digest than announced is not stored',
    tests: [`${images}/blobs.test.ts`],
  },
  {
    file: `${images}/blobs.ts`,
    from: 'if (found !== digest) throw',
    to: "if (found === '') throw",
    breaks: 'damaged content never arrives whole',
    tests: [`${images}/blobs.test.ts`],
  },
  {
    file: `${images}/tar-stream.ts`,
    from: "if (parts.includes('..'))",
    to: "if (parts[0] === '..')",
    breaks: 'an entry with ".." in the middle of its name is refused',
    tests: [`${images}/tar-stream.test.ts`],
  },
  {
    file: 'apps/runtime/src/services/neighbours/open-sealed.ts',
    from: 'if (until > now()) return text',
    to: 'if (text !== undefined) return text',
    breaks: 'a sealed answer of a neighbour expires',
    tests: ['apps/runtime/src/services/neighbours/open-sealed.test.ts'],
  },
  {
    file: 'apps/runtime/src/location/link-local/budget.ts',
    from: 'if (own.tokens < 1 || total.tokens < 1) return false',
    to: 'if (total.tokens < 1) return false',
    breaks: 'one neighbour cannot use up what all may send',
    tests: ['apps/runtime/src/location/link-local/budget.test.ts'],
  },
  {
    file: 'apps/runtime/src/api/api-key.ts',
    from: 'if (timingSafeEqual(digest(given), expected)) return',
    to: 'if (given.length >= 16) return',
    breaks: 'a wrong API key is refused',
    tests: ['apps/runtime/src/api/api-key.test.ts'],
  },
]
