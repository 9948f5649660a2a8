import { createGuard, isJsonType, readGuardedHeaders } from '@selvedge/service-kit/http'
import { expectThat, type Target } from '../engine/target.ts'

const seed = (...lines: string[]) => Buffer.from(lines.join('\n'), 'latin1')

/** Node accepts this many, and 16 KiB in all. */
const maxHeaders = 2000

/** Header lines as `name: value`, one a line. */
const readLines = (input: Buffer): string[] =>
  input
    .toString('latin1')
    .split('\n')
    .slice(0, maxHeaders)
    .flatMap((line) => {
      const at = line.indexOf(':')
      return at === -1 ? [line, ''] : [line.slice(0, at), line.slice(at + 1).trim()]
    })

/** The headers that decide whether a request is looked at. */
export const guard: Target = {
  name: 'guard',
  covers: ['packages/service-kit/src/http/guard.ts'],
  seeds: () => [
    seed('Host: localhost:8083', 'Content-Type: application/json; charset=utf-8', 'Authorization: Bearer x'),
    seed(
      'host: 127.0.0.1:8083',
      'Origin: http://localhost:8083',
      'Sec-Fetch-Site: same-origin',
      'DPoP: a.b.c',
    ),
    seed('HOST: [::1]:8083', 'Referer: http://localhost:8083/docs?x=1', 'content-type: application/json'),
    seed('Host: evil.example', 'Sec-Fetch-Site: cross-site'),
    seed(
      'Host: localhost:8083',
      'Content-Type: application/json',
      `Referer: http://localhost:8083/docs?${'x=1&'.repeat(3000)}`,
      ...Array.from({ length: 30 }, (_, at) => `X-Header-${at}: ${'value '.repeat(5)}`),
    ),
  ],
  words: [
    'Host: ',
    'Origin: ',
    'Referer: ',
    'Content-Type: application/json;',
    'charset="utf-8"',
    '\t',
    ' ',
    '\n',
  ],
  // Node accepts 16 KiB of headers.
  maxBytes: 16 * 1024,
  open: () => {
    const check = createGuard({ port: 8083, allowedOrigins: ['https://app.example'] })
    const checkSocket = createGuard({ port: undefined, allowedOrigins: [] })
    return {
      parse(input) {
        const headers = readGuardedHeaders({ rawHeaders: readLines(input) })
        const refusal = check(headers)
        checkSocket(headers)
        const isJson = isJsonType(headers.contentType)
        expectThat(!isJson || /^application\/json/i.test(headers.contentType!), 'another type passes as JSON')
        expectThat(
          refusal !== undefined || /^(localhost|127\.0\.0\.1|\[::1\]):8083$/i.test(headers.host ?? ''),
          'a foreign host passes',
        )
        return `${refusal?.reason ?? 'passes'} ${isJson}`
      },
    }
  },
}
