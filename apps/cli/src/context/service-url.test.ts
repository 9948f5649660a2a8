import { describe, expect, it } from 'vitest'
import { UsageError } from '../failure.ts'
import { readServiceUrl } from './service-url.ts'

function refusalOf(text: string): { message: string; hint: string } {
  try {
    readServiceUrl(text, '--identity-url')
    return { message: '', hint: '' }
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause
    return { message: cause.message, hint: cause.hint ?? '' }
  }
}

describe('credentials travel to', () => {
  it.each([
    ['https://id.example.com', 'https://id.example.com'],
    ['https://id.example.com/', 'https://id.example.com'],
    ['https://id.example.com:8443/a//', 'https://id.example.com:8443/a'],
    ['http://localhost:8084', 'http://localhost:8084'],
    ['http://127.0.0.1:8084', 'http://127.0.0.1:8084'],
    ['http://127.255.10.200', 'http://127.255.10.200'],
    ['http://[::1]:8084/', 'http://[::1]:8084'],
  ])('%s', (text, url) => {
    expect(readServiceUrl(text, 'x')).toBe(url)
  })
})

describe('credentials do not travel', () => {
  it.each([
    'http://id.example.com',
    'http://localhost.example.com',
    'http://my-localhost',
    'http://127.0.0.1.example.com',
    'http://[::2]',
    'http://192.168.0.1',
  ])('to another machine without TLS: %s', (text) => {
    expect(refusalOf(text)).toEqual({
      message: `--identity-url is "${text}": tokens are sent to another machine over HTTPS only`,
      hint: `Use https://${text.slice(7)}`,
    })
  })

  it.each(['ftp://id.example.com', 'xhttp://id.example.com', 'httpsx://id.example.com', 'x', ''])(
    'to what is no HTTP URL: %j',
    (text) => {
      expect(refusalOf(text).message).toBe(
        `--identity-url is ${JSON.stringify(text)}, which is not an HTTP URL`,
      )
    },
  )

  it.each(['https://u@id.example.com', 'https://id.example.com?a', 'https://id.example.com#a'])(
    'to a URL with more than an address: %s',
    (text) => {
      expect(refusalOf(text).message).toMatch(/user, password, query and fragment are not allowed in it$/)
    },
  )

  it('to a URL with a password, and the refusal does not show it', () => {
    const { message } = refusalOf('https://:secret@id.example.com')
    expect(message).toBe(
      '--identity-url is "https://…@id.example.com"; user, password, query and fragment are not allowed in it',
    )
  })
})

describe('a URL without a scheme is suggested', () => {
  it.each([
    ['id.example.com', 'Did you mean https://id.example.com?'],
    ['id.example.com:8443', 'Did you mean https://id.example.com:8443?'],
    ['127.0.0.1:8083', 'Did you mean http://127.0.0.1:8083?'],
    ['localhost:8083', 'Did you mean http://localhost:8083?'],
    ['x.127.0.0.1', 'Did you mean https://x.127.0.0.1?'],
    ['not a host', 'For example https://id.example.com'],
    ['host:123456', 'For example https://id.example.com'],
    ['host:80/path', 'For example https://id.example.com'],
    ['/host', 'For example https://id.example.com'],
  ])('for %j: %s', (text, hint) => {
    expect(refusalOf(text).hint).toBe(hint)
  })
})
