import { describe, expect, it } from 'vitest'
import { answerLimits, createAnswerReader } from './answer-reader.ts'

/** @param size of the pieces that the text arrives in */
function read(text: string, size = text.length) {
  const reader = createAnswerReader('http://proxy.example')
  for (let at = 0; at < text.length; at += size) {
    const answer = reader(Buffer.from(text.slice(at, at + size), 'latin1'))
    if (answer) return answer
  }
  return undefined
}

const opened = 'HTTP/1.1 200 Connection established\r\n\r\n'
const plain = { status: 200, contentType: '', schemes: [], extra: Buffer.alloc(0) }

describe('an answer of a proxy', () => {
  it.each([1, 2, 3, 1000])('is read in pieces of %i bytes', (size) =>
    expect(read(opened, size)).toEqual(plain),
  )

  it('may be of HTTP/1.0, and without a reason', () => {
    expect(read('HTTP/1.0 200 OK\r\n\r\n')).toEqual(plain)
    expect(read('HTTP/1.1 200\r\n\r\n')).toEqual(plain)
  })

  it('is not there before its head is', () => expect(read(opened.slice(0, -1))).toBeUndefined())

  it('may come after interim ones', () => {
    const interim = 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(answerLimits.maxInterim)
    expect(read(interim + opened)).toEqual(plain)
    expect(read(interim + opened, 1)).toEqual(plain)
    expect(() => read(`HTTP/1.1 102 Wait\r\n\r\n${interim}`)).toThrow('announced its answer again and again')
  })

  it('has the type of its body, and the names of the sign-in methods', () => {
    const head = [
      'HTTP/1.1 407 No',
      'Content-TYPE: Text/HTML; charset=utf-8',
      'Proxy-Authenticate: Negotiate',
      'proxy-authenticate: Basic realm="a, b"',
      `Proxy-Authenticate: ${'x'.repeat(100)}`,
    ]
    expect(read(`${head.join('\r\n')}\r\n\r\n`)).toMatchObject({
      status: 407,
      contentType: 'text/html; charset=utf-8',
      schemes: ['negotiate', 'basic', 'x'.repeat(20)],
    })
  })

  it('counts what comes behind it', () => {
    expect(read(`${opened}abc`)?.extra.toString()).toBe('abc')
    expect(read(opened + 'x'.repeat(100_000))?.extra.toString()).toBe('x'.repeat(100_000))
  })

  it.each([
    [
      'a header without end',
      `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}`,
      'sent a head of more than 16384 bytes',
    ],
    [
      'headers without end',
      `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(5000)}`,
      'sent a head of more than 16384 bytes',
    ],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', 'changed the protocol (101)'],
    ['SSH', 'SSH-2.0-OpenSSH_9\r\n\r\n', 'sent "SSH-2.0-OpenSSH_9"'],
    ['control sequences', '\x1b[2J\r\n\r\n', 'sent "?[2J"'],
    ['HTTP/2', 'HTTP/2 200\r\n\r\n', 'sent "HTTP/2 200"'],
    ['a status of six hundred', 'HTTP/1.1 600 X\r\n\r\n', 'sent "HTTP/1.1 600 X"'],
    ['a long status', 'HTTP/1.1 2000\r\n\r\n', 'sent "HTTP/1.1 2000"'],
    ['an empty line', '\r\n\r\n', 'sent ""'],
  ])('is an error if it is %s', (_, text, message) => {
    expect(() => read(text)).toThrow(message)
    expect(() => read(text, 7)).toThrow(message)
  })
})
