import { readPath } from '../../../../apps/runtime/src/services/gateway/path.ts'
import { expectThat, type Target } from '../engine/target.ts'

const isDots = (segment: string) => segment === '.' || segment === '..'

/** Paths of requests to services. */
export const path: Target = {
  name: 'path',
  covers: ['apps/runtime/src/services/gateway/path.ts'],
  seeds: () =>
    [
      '/a/b/c?x=1',
      '/a/../b/./c/',
      '/%2e%2E/x',
      '/a%20b/%C3%BC',
      '//a//',
      `/${'part%20of/'.repeat(600)}?${'q=1&'.repeat(500)}`,
    ].map((each) => Buffer.from(each)),
  words: ['%2f', '%2e', '%5c', '..', '/../', '%00', '%C0%AF', '?', '#', '\\', '%'],
  maxBytes: 16 * 1024,
  open: () => ({
    parse(input) {
      // Node refuses targets with control characters and spaces.
      const read = readPath(input.toString('latin1').replaceAll(/[\0-\x20\x7f]/g, ''))
      if (!read) return 'refused'
      expectThat(read.path.startsWith('/'), 'the path is relative')
      for (const segment of read.path.split('/')) {
        // A service that decodes a second time is responsible for the result; a path that is decoded once must not climb.
        const decoded = decodeURIComponent(segment)
        expectThat(!decoded.split(/[/\\]/).some(isDots) && !decoded.includes('\0'), 'a segment climbs')
      }
      return read.query === '' ? 'path' : 'path and query'
    },
  }),
}
