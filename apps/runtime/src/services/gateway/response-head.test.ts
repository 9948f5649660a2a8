import { describe, expect, it } from 'vitest'
import { growthOf, linear } from '../../../../../tests/harness/cpu.ts'
import { BrokenResponse } from './broken-response.ts'
import { parseHead } from './response-head.ts'

const parse = (headers: readonly string[] = [], status = 'HTTP/1.1 200 OK', hasNoBody = false) =>
  parseHead([status, ...headers].join('\r\n'), hasNoBody)

describe('a status line', () => {
  it.each([
    ['HTTP/1.1 200 OK', 200, 'OK'],
    ['HTTP/1.1 999 ', 999, ''],
    ['HTTP/1.1 100', 100, ''],
    ['HTTP/1.0 404 Not\tFound \xff', 404, 'Not\tFound \xff'],
  ])('%j is accepted', (line, status, message) => {
    expect(parse([], line)).toMatchObject({ status, message })
  })

  it.each([
    '',
    'HTTP/1.2 200 OK',
    'HTTP/2 200 OK',
    'http/1.1 200 OK',
    ' HTTP/1.1 200 OK',
    'HTTP/1.1 099 OK',
    'HTTP/1.1 20 OK',
    'HTTP/1.1 2000 OK',
    'HTTP/1.1  200 OK',
    'HTTP/1.1 200OK',
    'HTTP/1.1 200 O\x00K',
    'HTTP/1.1 200 O\x7fK',
    'HTTP/1.1 200 O\nK',
  ])('%j is refused', (line) => {
    expect(() => parse([], line)).toThrow(new BrokenResponse('its status line is not one of HTTP/1.1'))
  })
})

describe('a header', () => {
  it('is passed on with its name as it came, and without the white space around its value', () => {
    expect(parse(["!#$%&'*+.^_`|~0Az-: \t a \tb\t ", 'Empty:', 'Blank: \t']).headers).toEqual([
      "!#$%&'*+.^_`|~0Az-",
      'a \tb',
      'Empty',
      '',
      'Blank',
      '',
    ])
  })

  it.each([
    ': a',
    'Na me: a',
    'Name : a',
    ' Name: a',
    'Name',
    'N\x80: a',
    'Name: a\x00',
    'Name: a\nX: b',
    'Name: a\r',
  ])('%j is refused', (line) => {
    expect(() => parse(['A: b', line])).toThrow(new BrokenResponse('one of its headers is malformed'))
  })

  it.each(['Content-Length', 'Transfer-Encoding', 'Connection'])(
    'with a name as long as %s has no meaning for the body and the connection',
    ({ length }) => {
      const name = 'X'.repeat(length)
      expect(parse(['Content-Length: 2', `${name}: close`])).toMatchObject({
        headers: ['Content-Length', '2', name, 'close'],
        framing: 'length',
        contentLength: 2,
        isPersistent: true,
      })
    },
  )

  it('of spaces costs time linear in its length', async () => {
    const lineOf = (spaces: number) => `X: a${' '.repeat(spaces)}b${' '.repeat(spaces)}`
    expect(await growthOf(4000, lineOf, (line) => parse([line]))).toBeLessThan(linear)
  })
})

describe('a Content-Length', () => {
  it.each(['0', '5', '000000000000005', '999999999999999'])('of %s is the length of the body', (length) => {
    expect(parse([`CONTENT-LENGTH: ${length}`])).toMatchObject({
      framing: 'length',
      contentLength: Number(length),
      isPersistent: true,
    })
  })

  it.each(['', '-1', '+1', '1.0', '0x1', '1e3', '1,1', '1 1', 'a', '1000000000000000'])(
    'of %j is refused',
    (length) => {
      expect(() => parse([`Content-Length: ${length}`])).toThrow('its Content-Length is malformed')
    },
  )

  it('that is repeated with the same value is passed on once', () => {
    expect(parse(['Content-Length: 5', 'Content-Length: 5'])).toMatchObject({
      headers: ['Content-Length', '5'],
      contentLength: 5,
    })
  })

  it.each(['6', '05', ''])('that is repeated as %j is refused', (second) => {
    expect(() => parse(['Content-Length: 5', `Content-Length: ${second}`])).toThrow(
      'its Content-Length is malformed',
    )
  })
})

describe('a Transfer-Encoding', () => {
  it('"chunked" alone frames the body', () => {
    expect(parse(['TRANSFER-ENCODING: Chunked'])).toMatchObject({
      framing: 'chunked',
      contentLength: 0,
      isPersistent: true,
    })
  })

  it.each([
    [['Transfer-Encoding: gzip']],
    [['Transfer-Encoding: gzip, chunked']],
    [['Transfer-Encoding:']],
    [['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
    [['Transfer-Encoding: chunked', 'Content-Length: 5']],
    [['Content-Length: 5', 'Transfer-Encoding: chunked']],
  ])('%j is refused', (headers) => {
    expect(() => parse(headers)).toThrow('it has a Transfer-Encoding that is not "chunked" alone')
    expect(() => parse(headers, 'HTTP/1.1 204 No Content')).toThrow(BrokenResponse)
    expect(() => parse(headers, undefined, true)).toThrow(BrokenResponse)
  })
})

describe('a body', () => {
  const length = ['Content-Length: 5']

  it.each([
    ['of a response to HEAD', '200', true],
    ['of 204', '204', false],
    ['of 304', '304', false],
    ['of an interim response', '199', false],
  ])('%s does not exist, whatever its headers name', (_, status, hasNoBody) => {
    for (const headers of [length, []])
      expect(parse(headers, `HTTP/1.1 ${status} x`, hasNoBody)).toMatchObject({
        framing: 'none',
        contentLength: 0,
        isPersistent: true,
      })
  })

  it.each(['200', '203', '205', '303', '305', '500'])('of %s exists', (status) => {
    expect(parse(length, `HTTP/1.1 ${status} x`).framing).toBe('length')
  })

  it('without a length ends with the connection', () => {
    expect(parse([])).toMatchObject({ framing: 'close', isPersistent: false })
  })
})

describe('a connection', () => {
  const length = 'Content-Length: 5'

  it.each<[string, readonly string[], boolean]>([
    ['HTTP/1.1 200 x', [length], true],
    ['HTTP/1.0 200 x', [length], false],
    ['HTTP/1.0 200 x', [length, 'Connection: keep-alive'], false],
    ['HTTP/1.1 200 x', [length, 'Connection: close'], false],
    ['HTTP/1.1 200 x', [length, 'CONNECTION: upgrade, Close'], false],
    ['HTTP/1.1 200 x', ['Connection: close', length, 'Connection: keep-alive'], false],
    ['HTTP/1.1 200 x', [length, 'Connection: closed, foreclose'], true],
    ['HTTP/1.1 200 x', [length, 'X-Closing-: close'], true],
  ])('after %j with %j is persistent: %s', (status, headers, isPersistent) => {
    expect(parse(headers, status).isPersistent).toBe(isPersistent)
  })
})
