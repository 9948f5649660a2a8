import { describe, expect, it } from 'vitest'
import { growthOf, linear } from '../../../../../tests/harness/cpu.ts'
import { eventsHeader } from '../engines/function/control.ts'
import { linesOf, requestHeaders, responseHeaders, withoutHopByHop } from './headers.ts'
import { userHeader } from './user-header.ts'

const facts = {
  caller: { account: 'own', client: 'c', scope: '', container: '' },
  prefix: '/c/echo',
  forwardToken: true,
  from: '127.0.0.1',
  proto: 'http',
  isOfEvents: false,
  requestId: 'id-1',
} as const

/** Of a call that a service makes: its answer is passed on. */
const passing = { sandboxed: false, requestId: undefined }

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

  it('lose nothing that other headers than Connection name', () => {
    // A name as long as Connection.
    expect(passed('User-Agent', 'x-own', 'X-Own', 'mine')).toMatchObject({ 'x-own': 'mine' })
  })

  it('hold other names that only contain those of the gateway, and empty values', () => {
    expect(passed('My-X-Forwarded-For', 'a', 'X-Empty', '', 'X-Note', 'selvedge_session=x')).toMatchObject({
      'my-x-forwarded-for': 'a',
      'x-empty': '',
      'x-note': 'selvedge_session=x',
    })
  })

  it('hold the trace of the caller only if it is well-formed and came once', () => {
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    expect(passed('Host', 'h', 'TraceParent', trace)).toMatchObject({ traceparent: trace })
    expect(passed('Host', 'h', 'traceparent', `${trace}"} forged`)).not.toHaveProperty('traceparent')
    expect(passed('traceparent', trace, 'Traceparent', trace)).not.toHaveProperty('traceparent')
  })

  it.each([
    ['whatever was sent', []],
    ['also where the Connection header names it', ['Connection', 'x-request-id']],
  ])('hold the ID of the request that the gateway decided on, %s', (_, more) => {
    const headers = requestHeaders(['X-REQUEST-ID', 'a', 'x-request-id', 'b', ...more], facts)
    expect(linesOf(headers).match(/^x-request-id: .*$/gim)).toEqual(['X-Request-Id: id-1'])
  })

  it('lose the session cookies of the console, and the header where nothing else is in it', () => {
    expect(passed('Cookie', 'selvedge_session=x; a=1; __Host-selvedge=y')).toMatchObject({ cookie: 'a=1' })
    expect(passed('COOKIE', 'selvedge_session=x')).not.toHaveProperty('cookie')
    expect(passed('Cookie', 'my_selvedge_session=1; selvedge_session2=2')).toMatchObject({
      cookie: 'my_selvedge_session=1; selvedge_session2=2',
    })
  })

  it('cost time linear in their length', async () => {
    const headersOf = (length: number) => {
      const names = Array.from({ length }, (_, at) => `n${at}`)
      return ['Connection', names.join(','), ...names.flatMap((name) => [name, 'v'])]
    }
    expect(await growthOf(500, headersOf, (raw) => passed(...raw))).toBeLessThan(linear)
  })
})

describe('the headers that the gateway adds to a request', () => {
  const added = (
    changed: Partial<typeof facts | { from: string; proto: 'http' | 'https' }>,
    ...raw: string[]
  ) => requestHeaders(raw, { ...facts, ...changed })

  it.each([
    ['127.0.0.1', 'for=127.0.0.1'],
    ['::1', 'for="[::1]"'],
    ['', 'for=_local'],
  ])('name the client %j as %s (RFC 7239)', (from, node) => {
    expect(added({ from }, 'Host', 'h', 'X-Own', 'mine')).toContain(`${node};host="h";proto=http`)
  })

  it('name the scheme, and a host without the characters that end a quoted string', () => {
    expect(added({ proto: 'https' }, 'Host', 'a"\\b')).toContain('for=127.0.0.1;host="ab";proto=https')
  })

  it('name scheme, host and client as programs behind a proxy expect, and nothing that the caller sent', () => {
    const forged = ['X-Forwarded-Host', 'evil', 'X-Forwarded-Proto', 'evil', 'X-Forwarded-For', 'evil']
    const sent = passed('Host', 'device:8083', ...forged)
    expect(sent).toMatchObject({
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'device:8083',
      'x-forwarded-for': '127.0.0.1',
    })
    expect(Object.values(sent)).not.toContain('evil')
    expect(added({ from: '' })).not.toContain('X-Forwarded-For')
  })

  it('name no scope and no container if the caller has neither', () => {
    expect(added({})).toEqual([
      'Forwarded',
      'for=127.0.0.1;host="";proto=http',
      'X-Forwarded-Prefix',
      '/c/echo',
      'X-Forwarded-Proto',
      'http',
      'X-Request-Id',
      'id-1',
      'X-Forwarded-For',
      '127.0.0.1',
      'X-Selvedge-Account',
      'own',
      'X-Selvedge-Client',
      'c',
    ])
  })

  it('name the scope and the container of a caller', () => {
    const caller = { account: 'a', client: 'c', scope: 'openid', container: 'c-web' }
    expect(requestHeaders([], { ...facts, caller }).slice(-4)).toEqual([
      'X-Selvedge-Scope',
      'openid',
      'X-Selvedge-Container',
      'c-web',
    ])
  })

  it('name the person of a caller, and an answer to events', () => {
    const caller = { ...facts.caller, user: { sub: 'ada', name: 'ada@example.com', groups: [] } }
    expect(requestHeaders([], { ...facts, caller }).slice(-2)).toEqual([
      'X-Selvedge-User',
      userHeader(caller.user),
    ])
    expect(passed()).not.toHaveProperty('x-selvedge-user')
    const ofEvents = requestHeaders([], { ...facts, isOfEvents: true })
    expect(ofEvents[ofEvents.indexOf(eventsHeader) + 1]).toBe('true')
    expect(requestHeaders([], facts)).not.toContain(eventsHeader)
  })

  it('name no caller to a public service', () => {
    const headers = requestHeaders([], { ...facts, caller: undefined })
    expect(headers.filter((name) => /^x-selvedge/i.test(name))).toEqual([])
  })

  it('contain the token only if the service wants it', () => {
    const raw = ['AUTHORIZATION', 'Bearer t', 'X-Own', 'mine']
    expect(requestHeaders(raw, facts)).toContain('Bearer t')
    const others = requestHeaders(raw, { ...facts, forwardToken: false })
    expect(others).not.toContain('Bearer t')
    expect(others).toContain('mine')
  })

  it.each([
    'Connection',
    'Keep-Alive',
    'Proxy-Authenticate',
    'Proxy-Authorization',
    'Proxy-Connection',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'Expect',
    'Forwarded',
    'Content-Length',
  ])('replace or drop %s', (name) => {
    expect(requestHeaders([name, 'sent by the client'], facts)).not.toContain('sent by the client')
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

  it.each(['Host', 'Connection', 'Proxy', 'Expect', 'X-Selvedge-Account', 'X_Own'])('lose %s', (name) => {
    expect(withoutHopByHop([name, 'a', 'X-Own', 'b'])).toEqual(['X-Own', 'b'])
  })

  it('lose what the Connection header names', () => {
    expect(withoutHopByHop(['connection', ' X-Own ,te', 'X-Own', 'a', 'X-Other', 'b'])).toEqual([
      'X-Other',
      'b',
    ])
  })
})

describe('the headers of an answer', () => {
  it('set and clear no session cookie of the console, and give a service worker nothing of others', () => {
    const kept = ['Set-Cookie', 'a=1', 'X-Note', 'selvedge_session=x']
    const farReaching = ['Clear-Site-Data', '"cookies"', 'Service-Worker-Allowed', '/']
    const raw = ['SET-COOKIE', 'selvedge_session=x', ...kept, ...farReaching]
    expect(responseHeaders(raw, passing)).toEqual(kept)
  })

  it('lose those of one connection, and the policy of pages is added last', () => {
    const raw = ['Connection', 'X-Own', 'X-Own', 'a', 'Keep-Alive', 'b', 'Trailer', 'c', 'X-Other', 'd']
    expect(responseHeaders(raw, passing)).toEqual(['X-Other', 'd'])
    const [name, policy] = responseHeaders([...raw, 'Connection', 'content-security-policy'], {
      sandboxed: true,
      requestId: undefined,
    }).slice(-2)
    expect(name).toBe('Content-Security-Policy')
    expect(policy).toMatch(/^sandbox /)
    expect(policy).not.toContain('allow-same-origin')
  })
})

it('a redirect of a service to itself leads below its prefix, and stays one line', () => {
  const place = { prefix: '/c/echo', clientId: 'c', host: 'h', port: undefined }
  const raw = ['location', '/login', 'Content-Location', '/x']
  expect(responseHeaders(raw, { ...passing, place })).toEqual([
    'location',
    '/c/echo/login',
    'Content-Location',
    '/x',
  ])
  expect(responseHeaders(raw, passing)).toEqual(raw)
})

it('headers are lines on the wire, in order', () => {
  expect(linesOf(['A', 'b', 'C', 'd'])).toBe('A: b\r\nC: d\r\n')
  expect(linesOf([])).toBe('')
})

it.each([
  ['and not one of the service', []],
  ['also where the Connection header names it', ['Connection', 'X-Request-Id']],
])('an answer has the ID of its request, %s', (_, more) => {
  const raw = ['x-request-ID', 'forged', 'X-Request-Id', 'b', ...more, 'X-Own', 'c']
  const expected = ['X-Own', 'c', 'X-Request-Id', 'id-1']
  expect(responseHeaders(raw, { sandboxed: false, requestId: 'id-1' })).toEqual(expected)
  // That of a call to the outside is passed on.
  expect(responseHeaders(['X-Request-Id', 'a'], passing)).toEqual(['X-Request-Id', 'a'])
})
