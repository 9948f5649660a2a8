/** The CSRF and DNS rebinding check: which headers a request may have. */
import { describe, expect, it } from 'vitest'
import {
  createGuard,
  type GuardOptions,
  isJsonType,
  isUntypedOfProgram,
  readGuardedHeaders,
} from './guard.ts'

const local: GuardOptions = { port: 8083, allowedOrigins: ['https://app.example'] }

/** The reason of the guard to refuse a request with these headers, each name before its value, or `accepted`. */
function reasonFor(options: GuardOptions, ...rawHeaders: string[]): string {
  const refusal = createGuard(options)(readGuardedHeaders({ rawHeaders }))
  if (refusal === undefined) return 'accepted'
  expect(refusal.status).toBe(refusal.reason === 'repeated_header' ? 400 : 403)
  return refusal.reason
}
const own = ['Host', 'localhost:8083']

describe('the headers that decide', () => {
  it('are read in any case, each into its member', () => {
    const rawHeaders = [
      'HOST',
      'a',
      'Origin',
      'b',
      'referer',
      'c',
      'Sec-Fetch-Site',
      'd',
      'Content-Type',
      'e',
    ]
    rawHeaders.push('Authorization', 'f', 'DPoP', 'g', 'Accept', 'h', 'X-Secrets', 'i')
    expect(readGuardedHeaders({ rawHeaders })).toEqual({
      host: 'a',
      origin: 'b',
      referer: 'c',
      fetchSite: 'd',
      contentType: 'e',
      authorization: 'f',
      dpop: 'g',
      repeated: undefined,
    })
  })

  it('are those of the request and not members of every object', () => {
    // As long as the name of a header that decides.
    const rawHeaders = ['constructor', 'a', 'valueOf', 'b']
    expect(Object.values(readGuardedHeaders({ rawHeaders })).every((each) => each === undefined)).toBe(true)
  })

  it.each(['Host', 'Origin', 'Referer', 'Sec-Fetch-Site', 'Content-Type', 'Authorization', 'DPoP'])(
    'may each come once: %s',
    (name) => {
      expect(reasonFor(local, name, 'localhost:8083', name.toLowerCase(), 'localhost:8083')).toBe(
        'repeated_header',
      )
    },
  )

  it('names the header that came twice', () => {
    const headers = readGuardedHeaders({ rawHeaders: [...own, 'DPOP', 'a', 'dpop', 'a'] })
    expect(createGuard(local)(headers)?.message).toBe('the header "dpop" came twice; send it once')
  })

  it('does not mind other headers that came twice', () => {
    expect(reasonFor(local, ...own, 'Cookie', 'a', 'Cookie', 'b')).toBe('accepted')
  })
})

describe('the Host of a listener with a port', () => {
  it.each(['localhost:8083', '127.0.0.1:8083', '[::1]:8083', 'LOCALHOST:8083'])(
    'is accepted as %s',
    (host) => {
      expect(reasonFor(local, 'Host', host)).toBe('accepted')
    },
  )

  it.each([
    'evil.example:8083',
    'localhost',
    'localhost:80',
    'localhost:8083.evil.example',
    'localhost83',
    '0.0.0.0:8083',
    '',
  ])('is refused as %j', (host) => {
    expect(reasonFor(local, 'Host', host)).toBe('foreign_host')
  })

  it('must be there', () => {
    expect(reasonFor(local)).toBe('foreign_host')
  })

  it('may be a name of the configuration, in any case', () => {
    const options = { ...local, hosts: ['Edge.Example'] }
    expect(reasonFor(options, 'Host', 'edge.example:8083')).toBe('accepted')
    expect(reasonFor(options, 'Host', 'EDGE.example:8083')).toBe('accepted')
    expect(reasonFor(options, ...own)).toBe('accepted')
    expect(reasonFor(options, 'Host', 'edge.example')).toBe('foreign_host')
  })

  it('may be that of a proxy, with its port, and without it where that is the one of the scheme', () => {
    const options = { ...local, hosts: ['Edge.example:443', 'edge.example:8443', '[fd00::1]:80'] }
    for (const host of ['edge.example:443', 'EDGE.example', 'edge.example:8443', '[fd00::1]', '[fd00::1]:80'])
      expect(reasonFor(options, 'Host', host), host).toBe('accepted')
    for (const host of ['edge.example:8083', 'edge.example:80', '[fd00::1]:8083', 'edge.example:4430'])
      expect(reasonFor(options, 'Host', host), host).toBe('foreign_host')
  })

  it.each([
    ['https://edge.example', 'accepted'],
    ['http://edge.example:443', 'accepted'],
    ['http://edge.example', 'foreign_origin'],
    ['https://edge.example:8083', 'foreign_origin'],
  ])('of a proxy makes its pages own ones, of this port alone: %s', (origin, reason) => {
    const options = { ...local, hosts: ['edge.example:443'] }
    expect(reasonFor(options, 'Host', 'edge.example', 'Origin', origin)).toBe(reason)
  })

  it.each([80, 443])('needs no port where that is %s, the one of the scheme', (port) => {
    expect(reasonFor({ ...local, port }, 'Host', 'localhost')).toBe('accepted')
    expect(reasonFor({ ...local, port }, 'Host', `localhost:${port}`)).toBe('accepted')
    expect(reasonFor({ ...local, port }, 'Host', 'evil.example')).toBe('foreign_host')
  })

  it('is shown in the refusal, up to 100 characters, with what would be accepted', () => {
    const messageFor = (...rawHeaders: string[]) =>
      createGuard(local)(readGuardedHeaders({ rawHeaders }))?.message
    expect(messageFor('Host', 'x'.repeat(500))).toBe(
      `the Host header is "${'x'.repeat(100)}"; this listener answers to localhost:8083, 127.0.0.1:8083, [::1]:8083. A name of this device, or of a proxy with the proxy's port, such as device.example:443, can be added to "listen.hosts"`,
    )
    expect(messageFor()).toContain('the Host header is missing;')
  })
})

describe('the Host of a Unix socket', () => {
  const socket: GuardOptions = { port: undefined, hosts: ['edge.example'], allowedOrigins: [] }
  it.each(['localhost', 'localhost:1', 'localhost:65535', '[::1]', '[::1]:80', 'edge.example:'])(
    'is accepted with any port and without one: %s',
    (host) => {
      expect(reasonFor(socket, 'Host', host)).toBe('accepted')
    },
  )
  it.each(['evil.example', 'localhost:80:80', 'localhost:x', 'localhost:80x', ':80'])(
    'is refused as %j',
    (host) => {
      expect(reasonFor(socket, 'Host', host)).toBe('foreign_host')
    },
  )
  it('has no port in the refusal', () => {
    const refusal = createGuard(socket)(readGuardedHeaders({ rawHeaders: ['Host', 'x'] }))
    expect(refusal?.message).toContain('answers to localhost, 127.0.0.1, [::1], edge.example. A name')
  })
})

describe('the Origin', () => {
  it.each(['http://localhost:8083', 'https://localhost:8083', 'http://[::1]:8083', 'https://app.example'])(
    'is accepted as %s',
    (origin) => {
      expect(reasonFor(local, ...own, 'Origin', origin)).toBe('accepted')
    },
  )

  it.each([
    'null',
    'https://evil.example',
    'http://localhost:8084',
    'http://localhost',
    'http://app.example',
    'https://app.example.evil.example',
    '',
  ])('is refused as %j', (origin) => {
    expect(reasonFor(local, ...own, 'Origin', origin)).toBe('foreign_origin')
  })
})

describe('the Referer', () => {
  it.each([
    'http://localhost:8083',
    'http://localhost:8083/docs?x=1#y',
    'https://app.example/',
    'https://app.example?x',
    'HTTPS://APP.example/page',
    'HTTPS://APP.example',
    'https://app.example#x',
    'https://app.example\\x',
    `https://app.example/${'x'.repeat(5000)}`,
  ])('is accepted as %s', (referer) => {
    expect(reasonFor(local, ...own, 'Referer', referer)).toBe('accepted')
  })

  it.each([
    'https://evil.example/',
    'https://evil.example/http://localhost:8083/',
    'https://evil.example/?https://app.example',
    'https://app.example.evil.example/',
    'https://app.example@evil.example/',
    'xhttps://app.example/',
    'app.example',
    'https://',
    'https://[/',
    'android-app://app.example/',
    `https://${'x'.repeat(301)}/`,
    '',
  ])('is refused as %s', (referer) => {
    expect(reasonFor(local, ...own, 'Referer', referer)).toBe('foreign_referer')
  })

  it('may have a host of 300 characters', () => {
    const origin = `https://${'x'.repeat(300)}`
    expect(reasonFor({ ...local, allowedOrigins: [origin] }, ...own, 'Referer', `${origin}/a`)).toBe(
      'accepted',
    )
  })
})

describe('Sec-Fetch-Site', () => {
  it.each(['none', 'same-origin'])('is accepted as %s', (site) => {
    expect(reasonFor(local, ...own, 'Sec-Fetch-Site', site)).toBe('accepted')
  })

  it.each(['cross-site', 'same-site', '', 'NONE'])('is refused as %j', (site) => {
    expect(reasonFor(local, ...own, 'Sec-Fetch-Site', site)).toBe('foreign_site')
  })

  it('may be of another site where the Origin is allowed', () => {
    const crossSite = [...own, 'Sec-Fetch-Site', 'cross-site', 'Origin']
    expect(reasonFor(local, ...crossSite, 'https://app.example')).toBe('accepted')
    expect(reasonFor(local, ...crossSite, 'https://evil.example')).toBe('foreign_origin')
  })

  it('is shown in the refusal', () => {
    const headers = readGuardedHeaders({ rawHeaders: [...own, 'Sec-Fetch-Site', 'cross-site'] })
    expect(createGuard(local)(headers)?.message).toContain('(Sec-Fetch-Site: "cross-site")')
  })
})

it('only JSON in UTF-8 is JSON', () => {
  expect(isJsonType('application/json; charset=utf-8')).toBe(true)
  expect(isJsonType('application/json-rpc')).toBe(true)
  expect(isJsonType('Application/JSONRequest; charset=utf-8')).toBe(true)
  for (const type of [
    undefined,
    '',
    'text/plain',
    'application/json; charset=latin1',
    'application/json-rpc; charset=utf-16',
    'application/jsonrequests',
    'application/json-rpc, text/plain',
    'application/x-www-form-urlencoded',
  ])
    expect(isJsonType(type)).toBe(false)
})

describe('a request without a content type', () => {
  const isOfProgram = (names: readonly string[], localAddress: string | undefined = '127.0.0.1') =>
    isUntypedOfProgram({
      rawHeaders: names.flatMap((name) => [name, 'origin']),
      socket: { localAddress } as never,
    })

  it('is one of a program if no header of it is one that browsers add', () => {
    expect(isOfProgram([])).toBe(true)
    expect(
      isOfProgram(['Host', 'Content-Content-Type', 'X-Origin', 'Origin-X', 'Insec-Fetch', 'Second']),
    ).toBe(true)
  })

  it.each([
    'Content-Type',
    'ORIGIN',
    'Referer',
    'Content-Encoding',
    'Sec-Fetch-Mode',
    'sec-',
    'Access-Control-Request-Method',
    'access-control-request-private-network',
  ])('is not one of a program with %s', (name) => {
    expect(isOfProgram(['Host', name])).toBe(false)
    expect(isOfProgram([name, 'Accept'])).toBe(false)
  })

  it.each([
    [undefined, true],
    ['127.0.0.1', true],
    ['127.8.9.1', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['10.127.0.1', false],
    ['192.0.2.1', false],
    ['::12', false],
    ['::ffff:10.0.0.1', false],
    ['fe80::1', false],
  ])('at the local address %s is one of a program on this machine: %s', (address, expected) => {
    const request = { rawHeaders: [], socket: { localAddress: address } as never }
    expect(isUntypedOfProgram(request)).toBe(expected)
  })
})
