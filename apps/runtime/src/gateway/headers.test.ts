import { describe, expect, it } from 'vitest'
import { requestHeaders, responseHeaders, withoutHopByHop } from './headers.ts'

const facts = {
  caller: { account: 'own', client: 'c', scope: '', container: '' },
  prefix: '/c/echo',
  forwardToken: true,
  from: '127.0.0.1',
  proto: 'http',
} as const

/** Names in lower case, with their values. */
const passed = (...raw: string[]): Record<string, string> => {
  const headers = requestHeaders(raw, facts)
  const result: Record<string, string> = {}
  for (let at = 0; at < headers.length; at += 2) result[headers[at]!.toLowerCase()] = headers[at + 1]!
  return result
}

describe('the headers of a request for a service', () => {
  it.each([
    'X_Selvedge_Account',
    'X-Selvedge_Account',
    'x_selvedge-account',
    'X.Selvedge.Account',
    'X!Selvedge!Account',
    'X-Selvedge-Account',
    'X_Forwarded_Prefix',
    'Any_Thing',
    'Proxy',
  ])('hold no %s, which a CGI program could confuse with one of the gateway', (name) => {
    const headers = passed('Host', 'h', name, 'forged')
    expect(Object.values(headers)).not.toContain('forged')
    expect(headers['x-selvedge-account']).toBe('own')
    expect(headers.host).toBe('h')
  })

  it('lose nothing that lasts to the Connection header, and the rest that it names', () => {
    const named =
      'close, Host, authorization, Content-Length, Forwarded, X-Forwarded-Prefix, X-Selvedge-Account, X-Own'
    const headers = passed('Connection', named, 'Host', 'h', 'Authorization', 'Bearer t', 'X-Own', 'mine')
    expect(headers).toMatchObject({
      host: 'h',
      authorization: 'Bearer t',
      'x-selvedge-account': 'own',
      'x-forwarded-prefix': '/c/echo',
      forwarded: expect.stringContaining('for=127.0.0.1'),
    })
    expect(headers).not.toHaveProperty('x-own')
    expect(headers).not.toHaveProperty('connection')
  })

  it('lose the session cookies of the console, and the header where nothing else is in it', () => {
    expect(passed('Cookie', 'selvedge_session=x; a=1; __Host-selvedge=y')).toMatchObject({ cookie: 'a=1' })
    expect(passed('COOKIE', 'selvedge_session=x')).not.toHaveProperty('cookie')
    expect(passed('Cookie', 'my_selvedge_session=1; selvedge_session2=2')).toMatchObject({
      cookie: 'my_selvedge_session=1; selvedge_session2=2',
    })
  })

  it('cost time linear in their length', () => {
    const names = Array.from({ length: 3000 }, (_, at) => `n${at}`)
    const raw = ['Connection', names.join(','), ...names.flatMap((name) => [name, 'v'])]
    const begun = process.cpuUsage()
    for (let at = 0; at < 20; at++) passed(...raw)
    const { user, system } = process.cpuUsage(begun)
    expect((user + system) / 1000).toBeLessThan(1000)
  })
})

describe('the headers of a call to the outside', () => {
  it('keep the framing of its body, whatever the Connection header names', () => {
    expect(withoutHopByHop(['Connection', 'content-length', 'Content-Length', '5', 'Host', 'h'])).toEqual([
      'Content-Length',
      '5',
    ])
    expect(withoutHopByHop(['Transfer-Encoding', 'chunked'])).toEqual(['Transfer-Encoding', 'chunked'])
  })
})

describe('the headers of an answer', () => {
  it('set and clear no session cookie of the console', () => {
    const raw = ['SET-COOKIE', 'selvedge_session=x', 'Set-Cookie', 'a=1', 'Clear-Site-Data', '"cookies"']
    expect(responseHeaders(raw, false)).toEqual(['Set-Cookie', 'a=1'])
  })

  it('lose those of one connection, and the policy of pages is added last', () => {
    const raw = ['Connection', 'X-Own', 'X-Own', 'a', 'Keep-Alive', 'b', 'Trailer', 'c', 'X-Other', 'd']
    expect(responseHeaders(raw, false)).toEqual(['X-Other', 'd'])
    expect(responseHeaders([...raw, 'Connection', 'content-security-policy'], true).at(-2)).toBe(
      'Content-Security-Policy',
    )
  })
})
