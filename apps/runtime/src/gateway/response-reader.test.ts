import { describe, expect, it } from 'vitest'
import { createResponseReader } from './response-reader.ts'

/** Feeds a response in pieces, and records the result. */
function read(text: string, size: number, options: { head?: boolean; ends?: boolean } = {}) {
  const seen = {
    status: 0,
    headers: [] as string[],
    body: '',
    isLast: false,
    end: undefined as boolean | undefined,
    broken: '',
  }
  const reader = createResponseReader(options.head ?? false, {
    onHead: ({ status, headers }) => Object.assign(seen, { status, headers }),
    onBody(part, isLast) {
      seen.body += part.toString('latin1')
      seen.isLast ||= isLast
    },
    onEnd(reusable) {
      seen.end = reusable
    },
    onUnanswered() {
      seen.broken = 'unanswered'
    },
    onBroken(why) {
      seen.broken = why
    },
  })
  const bytes = Buffer.from(text, 'latin1')
  for (let at = 0; at < bytes.length; at += size) reader.read(bytes.subarray(at, at + size))
  if (options.ends) reader.end()
  return seen
}

const ok = 'HTTP/1.1 200 OK\r\n'

describe('an answer is read whole, however it is cut', () => {
  it.each<[string, string, object, { head?: boolean; ends?: boolean }?]>([
    [
      'with a length',
      `${ok}Content-Length: 5\r\nX: y\r\n\r\nhello`,
      { status: 200, body: 'hello', isLast: true, end: true },
    ],
    [
      'with a length of nothing',
      `${ok}Content-Length: 0\r\n\r\n`,
      { status: 200, body: '', isLast: true, end: true },
    ],
    [
      'in chunks',
      `${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n`,
      { body: 'hello world', isLast: true, end: true },
    ],
    [
      'in chunks, with trailers',
      `${ok}Transfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\n`,
      { body: 'a', isLast: true, end: true },
    ],
    [
      'until the connection ends',
      `${ok}\r\nhello`,
      { body: 'hello', isLast: true, end: false },
      { ends: true },
    ],
    [
      'without a body: 204',
      'HTTP/1.1 204 No Content\r\n\r\n',
      { status: 204, body: '', isLast: true, end: true },
    ],
    [
      'without a body: 304 with a length',
      'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n',
      { status: 304, body: '', end: true },
    ],
    [
      'without a body: to HEAD',
      `${ok}Content-Length: 9\r\n\r\n`,
      { status: 200, body: '', end: true },
      { head: true },
    ],
    [
      'after 100 and 103',
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${ok}Content-Length: 2\r\n\r\nok`,
      { status: 200, body: 'ok', end: true },
    ],
    [
      'that ends the connection',
      `${ok}Connection: close\r\nContent-Length: 2\r\n\r\nok`,
      { body: 'ok', end: false },
    ],
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', { body: 'ok', end: false }],
    ['without a reason phrase', 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok', { body: 'ok', end: true }],
    [
      'with bytes behind it, which spoil the connection',
      `${ok}Content-Length: 2\r\n\r\nokEXTRA`,
      { body: 'ok' },
    ],
  ])('%s', (_, text, expected, options) => {
    for (const size of [1, 2, 3, 7, 1000])
      expect(read(text, size, options)).toMatchObject({ ...expected, broken: '' })
  })

  it('one Content-Length that came twice is passed on once, and white space around values is not', () => {
    const { headers, end } = read(`${ok}Content-Length: 2\r\nContent-Length:2\r\nX: \t y \t \r\n\r\nok`, 1000)
    expect(headers).toEqual(['Content-Length', '2', 'X', 'y'])
    expect(end).toBe(true)
  })

  it('chunks that come together are passed on together', () => {
    const parts: number[] = []
    const reader = createResponseReader(false, {
      onHead: () => undefined,
      onBody: (part) => parts.push(part.length),
      onEnd: () => undefined,
      onUnanswered: () => undefined,
      onBroken: () => undefined,
    })
    reader.read(Buffer.from(`${ok}Transfer-Encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(5000)}`))
    reader.read(Buffer.from(`${'1\r\na\r\n'.repeat(5000)}0\r\n\r\n`))
    expect(parts).toEqual([5000, 5000])
  })

  it('nothing follows a broken part', () => {
    const seen = read(`${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n`, 1000)
    expect(seen).toMatchObject({
      body: '',
      isLast: false,
      end: undefined,
      broken: expect.stringMatching(/size/),
    })
  })

  it('bytes that answer no request make a connection unusable', () => {
    expect(read(`${ok}Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n`, 1000).end).toBe(false)
  })
})

describe('what two readers might read differently is refused', () => {
  it.each([
    ['length and chunks', `${ok}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`],
    ['two lengths', `${ok}Content-Length: 5\r\nContent-Length: 6\r\n\r\n`],
    ['a length that is no number', `${ok}Content-Length: +5\r\n\r\n`],
    ['another encoding', `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n`],
    ['chunked twice', `${ok}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n`],
    ['a size that is none', `${ok}Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n`],
    ['a negative size', `${ok}Transfer-Encoding: chunked\r\n\r\n-1\r\n`],
    ['a size beyond bounds', `${ok}Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n`],
    ['a chunk longer than its size', `${ok}Transfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n`],
    ['a size line without end', `${ok}Transfer-Encoding: chunked\r\n\r\n${'0'.repeat(300)}`],
    ['a space before the colon', `${ok}X : y\r\n\r\n`],
    ['a folded header', `${ok}X: a\r\n b\r\n\r\n`],
    ['a bare line feed', `${ok}X: a\nY: b\r\n\r\n`],
    ['a zero byte', `${ok}X: a\0b\r\n\r\n`],
    ['a header without a name', `${ok}: x\r\n\r\n`],
    ['another protocol', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ['another version', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 99 X\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 1000 X\r\n\r\n'],
    ['the status 000', 'HTTP/1.1 000 X\r\n\r\n'],
    ['announcements without end', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(17)],
    ['trailers without end', `${ok}Transfer-Encoding: chunked\r\n\r\n0\r\n${'X: y\r\n'.repeat(4000)}`],
    ['a switch of protocols', 'HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\n'],
    ['headers without end', `${ok}X: ${'y'.repeat(70_000)}`],
  ])('%s', (_, text) => {
    for (const size of [1, 1000])
      expect(read(text, size)).toMatchObject({ broken: expect.stringMatching(/./), end: undefined })
  })

  it.each([
    ['before it began', ''],
    ['in its headers', ok],
    ['in a body with a length', `${ok}Content-Length: 5\r\n\r\nhe`],
    ['in a chunk', `${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhe`],
    ['before the last chunk', `${ok}Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n`],
  ])('an answer that ends %s', (_, text) => {
    expect(read(text, 1000, { ends: true }).broken).toMatch(/unanswered|cut short/)
  })
})

describe('what an answer costs is linear in its bytes', () => {
  /** Milliseconds of CPU: the least of three runs. */
  const cost = (text: string, size: number) =>
    Math.min(
      ...[1, 2, 3].map(() => {
        const begun = process.cpuUsage()
        read(text, size)
        const { user, system } = process.cpuUsage(begun)
        return (user + system) / 1000
      }),
    )

  it.each([
    // Each of these took seconds where the work was quadratic.
    ['white space in the middle of a value', `${ok}X: a${' '.repeat(60_000)}b\r\n\r\n`, 100_000],
    ['white space before a broken byte', `${ok}X: ${' '.repeat(60_000)}\0\r\n\r\n`, 100_000],
    ['a header in pieces of one byte', `${ok}X: ${'a'.repeat(60_000)}\r\n\r\n`, 1],
    ['many headers', `${ok}${'X: y\r\n'.repeat(9000)}\r\n`, 100_000],
  ])('%s', (_, text, size) => {
    expect(cost(text, size)).toBeLessThan(100)
  })
})
