import { describe, expect, it } from 'vitest'
import { growthOf, linear } from '../../../../../tests/harness/cpu.ts'
import { createResponseReader, type ResponseEvents } from './response-reader.ts'

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

/** A reader, and the names of its events in order; a part of a body is itself and "…", the last one itself and ".". */
function record(changed: Partial<ResponseEvents> = {}) {
  const events: string[] = []
  const reader = createResponseReader(false, {
    onHead: () => void events.push('head'),
    onBody: (part, isLast) => void events.push(`${part} ${isLast ? '.' : '…'}`),
    onEnd: () => void events.push('end'),
    onUnanswered: () => void events.push('unanswered'),
    onBroken: () => void events.push('broken'),
    ...changed,
  })
  return { reader, events }
}

const ok = 'HTTP/1.1 200 OK\r\n'

describe('a response is read completely, however it is split', () => {
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

  it('chunks that come together are passed on together', () => {
    const { reader, events } = record()
    reader.read(Buffer.from(`${ok}Transfer-Encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(500)}`))
    reader.read(Buffer.from(`${'1\r\na\r\n'.repeat(500)}0\r\n\r\n`))
    const part = 'a'.repeat(500)
    expect(events).toEqual(['head', `${part} …`, `${part} .`, 'end'])
  })

  it.each([
    ['Content-Length: 3', ['he', 'y'], ['he …', 'y .', 'end']],
    [
      'Transfer-Encoding: chunked',
      ['2\r\n', 'he', '\r\n1\r\ny', '\r\n0\r\n', '\r\n'],
      ['he …', 'y …', ' .', 'end'],
    ],
    ['Connection: close', ['he', 'y'], ['he …', 'y …']],
  ])(
    'a body with %j is passed on as it arrives, and only its last part may be empty',
    (header, parts, passed) => {
      const { reader, events } = record()
      for (const each of [`${ok}${header}\r\n\r\n`, ...parts]) reader.read(Buffer.from(each))
      expect(events).toEqual(['head', ...passed])
    },
  )

  it('a large chunk that comes in one piece is not copied', () => {
    const memory: ArrayBufferLike[] = []
    const { reader } = record({ onBody: ({ buffer }) => memory.push(buffer) })
    const bytes = Buffer.from(`${ok}Transfer-Encoding: chunked\r\n\r\nffff\r\n${'a'.repeat(65_535)}`)
    reader.read(bytes)
    expect(memory).toHaveLength(1)
    expect(memory[0]).toBe(bytes.buffer)
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

describe('a malformed response is refused', () => {
  it.each([
    ['a malformed head', `${ok}X : y\r\n\r\n`],
    ['a malformed chunk', `${ok}Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n`],
    ['another protocol', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ['an upgrade that was not requested', 'HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\n'],
  ])('%s', (_, text) => {
    for (const size of [1, 1000])
      expect(read(text, size)).toMatchObject({ broken: expect.stringMatching(/./), end: undefined })
  })

  it('it may have 16 interim responses, and no more', () => {
    const interim = 'HTTP/1.1 100 Continue\r\n\r\n'
    const final = `${ok}Content-Length: 2\r\n\r\nok`
    for (const size of [1, 7, 100_000]) {
      expect(read(interim.repeat(16) + final, size)).toMatchObject({ status: 200, body: 'ok', end: true })
      expect(read(interim.repeat(17) + final, size).broken).toMatch(/more than 16 times/)
    }
  })

  it('its head may have 64 KiB, and no more', () => {
    const response = (bytes: number) =>
      `${ok}Content-Length: 2\r\nX: ${'y'.repeat(bytes - ok.length - 22)}\r\n\r\nok`
    for (const size of [1000, 65_537, 65_538, 65_539, 65_540, 100_000]) {
      expect(read(response(65_536), size)).toMatchObject({ broken: '', body: 'ok', end: true })
      expect(read(response(65_537), size).broken).toBe('its headers are larger than 65536 bytes')
    }
  })

  it.each([1, 1000])('its head may not go on for ever, in pieces of %d bytes', (size) => {
    const head = (bytes: number) => `${ok}X: `.padEnd(bytes, 'y')
    expect(read(head(65_539), size).broken).toBe('')
    expect(read(head(65_540), size).broken).toBe('its headers are larger than 65536 bytes')
  })

  it.each([1, 1000])('it may not begin with an empty head, in pieces of %d bytes', (size) => {
    expect(read('\r\n\r\n', size).broken).toMatch(/status line/)
  })
})

describe('nothing is read', () => {
  const complete = `${ok}Content-Length: 2\r\n\r\nok`

  it.each([
    ['a broken response', 'broken\r\n\r\n', ['broken']],
    ['a complete response', complete, ['head', 'ok .', 'end']],
  ])('after %s', (_, text, expected) => {
    const { reader, events } = record()
    reader.read(Buffer.from(text))
    reader.read(Buffer.from(complete))
    reader.end()
    expect(events).toEqual(expected)
  })

  it.each([
    ['in the head', ok, ['unanswered']],
    ['in a body without a length', `${ok}\r\n`, ['head', ' .', 'end']],
    ['in a body with a length', `${ok}Content-Length: 1\r\n\r\n`, ['head', 'broken']],
  ])('after the end of the connection %s', (_, text, expected) => {
    const { reader, events } = record()
    reader.read(Buffer.from(text))
    for (let times = 0; times < 2; times++) {
      reader.end()
      reader.read(Buffer.from(complete))
    }
    expect(events).toEqual(expected)
  })
})

describe('the end of the connection', () => {
  it.each([
    ['before the head', ''],
    ['in the head', ok],
    ['after an interim response', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ])('%s leaves the request unanswered', (_, text) => {
    expect(read(text, 1000, { ends: true }).broken).toBe('unanswered')
  })

  it.each([
    ['in a body with a length', `${ok}Content-Length: 5\r\n\r\nhe`],
    ['in a chunk', `${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhe`],
    ['before the last chunk', `${ok}Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n`],
  ])('%s cuts the response short', (_, text) => {
    expect(read(text, 1000, { ends: true })).toMatchObject({
      broken: 'its answer was cut short',
      isLast: false,
      end: undefined,
    })
  })

  it('after a complete response means nothing', () => {
    const seen = read(`${ok}Content-Length: 2\r\n\r\nok`, 1000, { ends: true })
    expect(seen).toMatchObject({ body: 'ok', end: true, broken: '' })
  })
})

it('an exception of what receives the response is no fault of the response', () => {
  const failure = new Error('the receiver')
  const { reader, events } = record({
    onHead() {
      throw failure
    },
  })
  expect(() => reader.read(Buffer.from(`${ok}Content-Length: 2\r\n\r\nok`))).toThrow(failure)
  expect(events).toEqual([])
})

describe('the CPU time of a response is linear in its bytes', () => {
  it.each<[string, (size: number) => string, number]>([
    ['white space in the middle of a value', (size) => `X: a${' '.repeat(size)}b`, 100_000],
    ['white space before a broken byte', (size) => `X: ${' '.repeat(size)}\0`, 100_000],
    ['a header in pieces of one byte', (size) => `X: ${'a'.repeat(size)}`, 1],
    ['many headers', (size) => 'X: y\r\n'.repeat(size / 7), 100_000],
  ])('%s', async (_, headers, pieces) => {
    const textOf = (size: number) => `${ok}${headers(size)}\r\n\r\n`
    expect(await growthOf(3900, textOf, (text) => read(text, pieces))).toBeLessThan(linear)
  })
})
