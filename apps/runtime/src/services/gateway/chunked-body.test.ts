import { describe, expect, it } from 'vitest'
import { BrokenResponse } from './broken-response.ts'
import { ChunkedBody } from './chunked-body.ts'

/** Reads a body in pieces of `size` bytes. */
function read(text: string, size = text.length) {
  const body = new ChunkedBody()
  const bytes = Buffer.from(text, 'latin1')
  let rest: Buffer = Buffer.alloc(0)
  let data = ''
  for (let at = 0; at < bytes.length; at += size) {
    rest = body.read(Buffer.concat([rest, bytes.subarray(at, at + size)]))
    data += body.takeData().toString('latin1')
  }
  return { data, rest: rest.toString('latin1'), isComplete: body.isComplete, trailers: body.trailers }
}

describe('a chunked body', () => {
  it.each([
    ['is the data of its chunks', '5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n', 'hello world', ''],
    ['may be empty', '0\r\n\r\n', '', ''],
    [
      'may have sizes with leading zeros and in both cases',
      '00000001\r\na\r\n0A\r\n0123456789\r\n0a\r\n0123456789\r\n0\r\n\r\n',
      'a01234567890123456789',
      '',
    ],
    ['loses extensions of chunks', '1 ;a="b"\r\nx\r\n0;c\r\n\r\n', 'x', ''],
    ['has trailers apart from its data', '1\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\n', 'x', ''],
    ['ends before the bytes that follow it', '1\r\nx\r\n0\r\n\r\nHTTP', 'x', 'HTTP'],
    ['ends before lines that follow it', '0\r\n\r\nA: b\r\n\r\n', '', 'A: b\r\n\r\n'],
    ['may contain line ends', '4\r\n\r\n\r\n\r\n0\r\n\r\n', '\r\n\r\n', ''],
  ])('%s', (_, text, data, rest) => {
    for (const size of [1, 2, 3, 7, text.length])
      expect(read(text, size)).toMatchObject({ data, rest, isComplete: true })
  })

  it.each(['5\r\nhel', '5\r\nhello', '5\r\nhello\r', '5\r\nhello\r\n', '5', '', '0\r\n', '0\r\nA: b\r\n'])(
    'is not complete after %j',
    (text) => {
      for (const size of [1, 100]) expect(read(text, size).isComplete).toBe(false)
    },
  )

  it.each([
    ['\r\n', 'the size of a chunk is malformed'],
    ['g\r\n', 'the size of a chunk is malformed'],
    ['-1\r\n', 'the size of a chunk is malformed'],
    ['0x1\r\n', 'the size of a chunk is malformed'],
    [' 1\r\n', 'the size of a chunk is malformed'],
    ['1 1\r\n', 'the size of a chunk is malformed'],
    ['100000000\r\n', 'the size of a chunk is malformed'],
    ['1;\x00\r\n', 'the size of a chunk is malformed'],
    ['1\r\nabc', 'a chunk is longer than its size'],
    ['1\r\na\rb', 'a chunk is longer than its size'],
    ['1\r\nab\n', 'a chunk is longer than its size'],
  ])('%j is refused', (text, why) => {
    for (const size of [1, 2, 100]) expect(() => read(text, size)).toThrow(new BrokenResponse(why))
  })
})

describe('limits of a chunked body', () => {
  it('a line has at most 256 bytes, however it arrives', () => {
    const body = (length: number) => `1;${'a'.repeat(length - 2)}\r\nx\r\n0\r\n\r\n`
    for (const size of [1, 7, 1000]) {
      expect(read(body(256), size).data).toBe('x')
      expect(() => read(body(257), size)).toThrow('a line of its chunks is too long')
    }
  })

  it('a line without an end is refused after 258 bytes', () => {
    expect(read(`1;${'a'.repeat(255)}`).isComplete).toBe(false)
    expect(() => read(`1;${'a'.repeat(256)}`)).toThrow('a line of its chunks is too long')
  })

  it('a trailer has at most 8 KiB', () => {
    const body = (length: number) => `0\r\nA:${'a'.repeat(length - 2)}\r\n\r\n`
    expect(read(body(8192)).trailers).toEqual(['A', 'a'.repeat(8190)])
    expect(() => read(body(8193))).toThrow('a line of its chunks is too long')
  })

  it('trailers that are malformed are dropped', () => {
    expect(read('0\r\nA: b\r\nno field\r\nC: \x01\r\nD:e\r\n\r\n').trailers).toEqual(['A', 'b', 'D', 'e'])
  })

  it('trailers have at most 16 KiB, line ends included', () => {
    const line = `${'a'.repeat(126)}\r\n`
    const body = (lines: number, last: string) => `0\r\n${line.repeat(lines)}${last}`
    expect(read(body(128, '\r\n')).isComplete).toBe(true)
    expect(() => read(body(128, 'a\r\n'))).toThrow('its trailers are larger than 16384 bytes')
  })
})
