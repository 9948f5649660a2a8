/** Registries and token servers on the loopback, with the challenges and refusals of real ones and of hostile ones. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { directNetwork } from '../../../../../../tests/harness/direct-network.ts'
import { authenticated } from './authenticated.ts'
import type { Lookup } from './credentials.ts'
import { openHttpGet, readText } from './http-get.ts'

const servers: Server[] = []
afterEach(() => {
  for (const each of servers.splice(0)) {
    each.close()
    each.closeAllConnections()
  }
})

interface Heard {
  readonly method: string
  readonly url: URL
  readonly authorization: string | undefined
  readonly body: string
}

/** A host that answers with a function, and what it heard. */
async function listen(answer: (heard: Heard, response: ServerResponse) => unknown) {
  const heard: Heard[] = []
  const read = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await request.toArray()
    const { method = '', url = '', headers } = request
    heard.push({
      method,
      url: new URL(url, 'http://x'),
      authorization: headers.authorization,
      body: Buffer.concat(body).toString(),
    })
    answer(heard.at(-1)!, response)
  }
  const server = createServer(
    (request, response) => void read(request, response).catch(() => response.destroy()),
  )
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, heard }
}

const basic = btoa('me:hunter2')
const withPassword: Lookup = {
  credentials: { basic, identityToken: undefined, secrets: [basic, 'hunter2'], from: '"r" in /auth.json' },
  missing: '',
}
const withIdentity: Lookup = {
  credentials: {
    basic: undefined,
    identityToken: 'ref/resh',
    secrets: ['ref/resh'],
    from: '"r" in /auth.json',
  },
  missing: '',
}
const withNothing: Lookup = { credentials: undefined, missing: '/auth.json has no entry for r' }

/** What a registry gives for a request; the text, or the error. */
async function ask(host: string, lookup: Lookup): Promise<string> {
  const get = authenticated(
    { registry: host, repository: 'team/app', text: `${host}/team/app:1` },
    lookup,
    await openHttpGet(host, { outbound: directNetwork }),
  )
  return readText(await get(`http://${host}/v2/team/app/manifests/1`, {}), 1000)
}
const failureOf = (asked: Promise<string>) =>
  asked.then(
    (text) => expect.unreachable(text),
    (cause) => cause,
  )

describe('a challenge', () => {
  /** A registry with a token server that gives a token for what it hears. */
  async function listenWith(
    challenge: (host: string) => string | string[],
    mayHave: (heard: Heard) => boolean,
  ) {
    const server = await listen((heard, response) => {
      if (heard.url.pathname === '/token')
        return mayHave(heard) ? response.end('{"access_token":"good"}') : response.writeHead(401).end()
      if (heard.authorization === 'Bearer good' || heard.authorization === `Basic ${basic}`)
        return response.end('content')
      return response.writeHead(401, { 'WWW-Authenticate': challenge(server.host) }).end()
    })
    return server
  }
  const anyone = () => true

  it.each<[string, (host: string) => string | string[]]>([
    ['beside Negotiate', (host) => ['Negotiate', `Bearer realm="http://${host}/token"`]],
    ['after Negotiate', (host) => `Negotiate, NTLM, Bearer realm="http://${host}/token"`],
    ['with other letters and spaces', (host) => `bearer  Realm = "http://${host}/token" , Service = "x"`],
    ['with a relative realm', () => 'Bearer realm="/token"'],
    [
      'after Basic, for which there is no password',
      (host) => `Basic realm="x", Bearer realm="http://${host}/token"`,
    ],
    ['after a Bearer without a realm', (host) => ['Bearer', `Bearer realm="http://${host}/token"`]],
  ])('is answered %s', async (_, challenge) => {
    const { host } = await listenWith(challenge, anyone)
    expect(await ask(host, withNothing)).toBe('content')
  })

  it('has its service and scope sent, and the password only for it', async () => {
    const { host, heard } = await listenWith(
      (own) => `Bearer realm="http://${own}/token?a=b",service="s p",scope="repository:x/y:pull"`,
      ({ authorization }) => authorization === `Basic ${basic}`,
    )
    expect(await ask(host, withPassword)).toBe('content')
    expect(heard.map(({ url, authorization }) => [url.pathname, authorization])).toEqual([
      ['/v2/team/app/manifests/1', undefined],
      ['/token', `Basic ${basic}`],
      ['/v2/team/app/manifests/1', 'Bearer good'],
    ])
    expect(Object.fromEntries(heard[1]!.url.searchParams)).toEqual({
      ...{ a: 'b', service: 's p', scope: 'repository:x/y:pull' },
    })
  })

  it('of Basic is answered with the password', async () => {
    const { host } = await listenWith(() => 'Basic realm="x"', anyone)
    expect(await ask(host, withPassword)).toBe('content')
  })

  it('gets a token for an identity token with a form, as Azure wants it', async () => {
    const { host, heard } = await listenWith(
      (own) => `Bearer realm="http://${own}/token",service="s"`,
      ({ method }) => method === 'POST',
    )
    expect(await ask(host, withIdentity)).toBe('content')
    const { body, authorization, url } = heard[1]!
    expect(Object.fromEntries(new URLSearchParams(body))).toEqual({
      ...{ grant_type: 'refresh_token', client_id: 'selvedge', service: 's' },
      ...{ scope: 'repository:team/app:pull', refresh_token: 'ref/resh' },
    })
    expect([authorization, url.search]).toEqual([undefined, ''])
  })

  it('a form with an identity token follows no redirect', async () => {
    const thief = await listen((_, response) => response.end('{"token":"good"}'))
    const { host } = await listen((heard, response) =>
      heard.url.pathname === '/token'
        ? response.writeHead(307, { Location: `http://${thief.host}/` }).end()
        : response.writeHead(401, { 'WWW-Authenticate': `Bearer realm="/token"` }).end(),
    )
    expect(await failureOf(ask(host, withIdentity))).toMatchObject({
      reason: 'registry_unavailable',
      message: `${host}: it refused a token with 307`,
    })
    expect(thief.heard).toEqual([])
  })

  it('comes again when a token has expired, and is answered again', async () => {
    let tokens = 0
    const { host } = await listen((heard, response) => {
      if (heard.url.pathname === '/token') return response.end(`{"token":"t${++tokens}"}`)
      const isFresh =
        heard.authorization === `Bearer t${tokens}` && heard.url.pathname !== `/expired${tokens}`
      return isFresh
        ? response.end('x')
        : response.writeHead(401, { 'WWW-Authenticate': 'Bearer realm="/token"' }).end()
    })
    const reference = { registry: host, repository: 'a', text: 'a' }
    const get = authenticated(reference, withNothing, await openHttpGet(host, { outbound: directNetwork }))
    for (const path of ['/first', '/expired1', '/expired2'])
      expect(await readText(await get(`http://${host}${path}`, {}), 10)).toBe('x')
    expect(tokens).toBe(3)
  })

  it.each([404, 403])('is requested at the root if a registry answers %i to strangers', async (status) => {
    const { host, heard } = await listen((each, response) => {
      if (each.authorization !== undefined) return response.end('content')
      if (each.url.pathname !== '/v2/') return response.writeHead(status).end()
      return response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end()
    })
    expect(await ask(host, withPassword)).toBe('content')
    expect(heard.map(({ url }) => url.pathname)).toEqual([
      ...['/v2/team/app/manifests/1', '/v2/', '/v2/team/app/manifests/1'],
    ])
    // Without credentials the answer is the answer.
    expect((await failureOf(ask(host, withNothing))).reason).toBe(
      status === 404 ? 'not_found' : 'registry_refused',
    )
  })

  it('a root that cannot be reached, or that leads elsewhere, changes nothing about the answer', async () => {
    const thief = await listen((_, response) =>
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end(),
    )
    for (const isReset of [true, false]) {
      const { host } = await listen((heard, response) => {
        if (heard.url.pathname !== '/v2/') return response.writeHead(404).end()
        return isReset
          ? response.destroy()
          : response.writeHead(307, { Location: `http://${thief.host}/v2/` }).end()
      })
      expect(await failureOf(ask(host, withPassword))).toMatchObject({ reason: 'not_found' })
    }
    expect(thief.heard.map(({ authorization }) => authorization)).toEqual([undefined])
  })
})

describe('a refusal', () => {
  const json = (body: unknown, headers = {}) => ({ body: JSON.stringify(body), headers })
  const refusing = (status: number, body: string, headers: Record<string, string> = {}) =>
    listen((_, response) => response.writeHead(status, headers).end(body))
  const denied = json({ errors: [{ code: 'DENIED', message: 'requested access to the resource is denied' }] })

  it.each<[string, number, Lookup, string]>([
    [
      'without credentials',
      401,
      withNothing,
      'it refused a request without credentials, and /auth.json has no entry for r (401)',
    ],
    [
      'without credentials',
      403,
      withNothing,
      'it refused a request without credentials, and /auth.json has no entry for r (403)',
    ],
    ['with credentials', 401, withPassword, 'it refused the credentials "r" in /auth.json (401)'],
    ['with credentials', 403, withPassword, 'it refused the credentials "r" in /auth.json (403)'],
  ])('%s is shown with the words of the registry: %i', async (_, status, lookup, why) => {
    const { host } = await refusing(status, denied.body, { 'WWW-Authenticate': 'Basic realm="x"' })
    const failure = await failureOf(ask(host, lookup))
    expect([failure.reason, failure.message]).toEqual([
      'registry_refused',
      `${host}: ${why}: "denied: requested access to the resource is denied"`,
    ])
    expect(failure.toObject().data.retryable).toBe(false)
  })

  it('for want of a supported way to authenticate names what is offered', async () => {
    const { host } = await refusing(401, '', { 'WWW-Authenticate': 'Negotiate, NTLM TlRM==' })
    for (const lookup of [withNothing, withPassword])
      expect((await failureOf(ask(host, lookup))).message).toBe(
        `${host}: it offers ways to authenticate that are not supported (negotiate, ntlm); supported are basic and bearer (401)`,
      )
  })

  it.each<[string, number, Lookup, string, string]>([
    [
      'a password',
      401,
      withPassword,
      'registry_refused',
      'it refused the credentials "r" in /auth.json (401)',
    ],
    [
      'an identity token that has expired',
      400,
      withIdentity,
      'registry_refused',
      'it refused the credentials "r" in /auth.json (400)',
    ],
    [
      'nobody',
      403,
      withNothing,
      'registry_refused',
      'it gives a token only for credentials, and /auth.json has no entry for r (403)',
    ],
    ['a wrong request', 400, withPassword, 'registry_unavailable', 'it refused a token with 400'],
    ['too many', 429, withPassword, 'registry_unavailable', 'it refused a token with 429'],
  ])('of a token to %s has the words of the token server', async (_, status, lookup, reason, why) => {
    const { host } = await listen((heard, response) =>
      heard.url.pathname === '/token'
        ? response.writeHead(status).end('{"details":"incorrect username or password"}')
        : response.writeHead(401, { 'WWW-Authenticate': 'Bearer realm="/token"' }).end(),
    )
    const failure = await failureOf(ask(host, lookup))
    expect([failure.reason, failure.message]).toEqual([
      reason,
      `${host}: ${why}: "incorrect username or password"`,
    ])
  })

  it.each<[string, string, Record<string, string>, string]>([
    ['a list of errors', denied.body, {}, 'denied: requested access to the resource is denied'],
    ['a code alone', '{"errors":[{"code":"TOOMANYREQUESTS"}]}', {}, 'toomanyrequests'],
    [
      'an error of OAuth',
      '{"error":"invalid_grant","error_description":"it expired"}',
      {},
      'invalid_grant: it expired',
    ],
    ['a line of text', 'go away\n', { 'Content-Type': 'text/plain; charset=utf-8' }, 'go away'],
    ['control sequences', JSON.stringify({ details: 'a\u001b[31mb\r\nc\u202ed\u0000' }), {}, 'ab cd'],
    ['quotes', '{"details":"say \\"no\\""}', {}, 'say \\"no\\"'],
    ['a long text', JSON.stringify({ details: 'x'.repeat(5000) }), {}, `${'x'.repeat(300)}…`],
    [
      'what it got',
      JSON.stringify({ details: `Basic ${basic} hunter2 /me:hunter2/` }),
      {},
      'Basic <redacted> <redacted> /me:<redacted>/',
    ],
  ])('has %s on one line, without secrets', async (_, body, headers, words) => {
    const { host } = await refusing(403, body, headers)
    expect((await failureOf(ask(host, withPassword))).message).toBe(
      `${host}: it refused the credentials "r" in /auth.json (403): "${words}"`,
    )
  })

  it.each<[string, string, Record<string, string>]>([
    ['nothing', '', {}],
    ['a page', '<html>sign in</html>', { 'Content-Type': 'text/html' }],
    ['another form', '{"errors":[5]}', {}],
    ['an empty list', '{"errors":[]}', {}],
    ['null', 'null', {}],
    ['too much', JSON.stringify({ details: 'x'.repeat(20_000) }), {}],
    ['something compressed', '{"details":"x"}', { 'Content-Encoding': 'gzip' }],
  ])('is shown without words if the registry sends %s', async (_, body, headers) => {
    const { host } = await refusing(403, body, headers)
    expect((await failureOf(ask(host, withPassword))).message).toMatch(/ \(403\)$/)
  })

  it('with a body that never ends closes the connection', async () => {
    let isClosed = false
    const { host } = await listen((_, response) => {
      response.on('close', () => {
        isClosed = true
      })
      response.writeHead(403, { 'Content-Type': 'text/plain' })
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(1000)));
      }
      response.on('drain', more)
      more()
    })
    expect(await failureOf(ask(host, withNothing))).toMatchObject({ reason: 'registry_refused' })
    await expect.poll(() => isClosed).toBe(true)
  })

  it('of another status keeps its words, and may pass', async () => {
    const { host } = await refusing(500, '{"errors":[{"code":"UNKNOWN","message":"the disk is full"}]}')
    expect(await failureOf(ask(host, withPassword))).toMatchObject({
      reason: 'registry_unavailable',
      message: `${host}: it answered 500: "unknown: the disk is full"`,
    })
    const other = await refusing(404, '{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}')
    expect(await failureOf(ask(other.host, withNothing))).toMatchObject({
      reason: 'not_found',
      message: `${other.host} has no ${other.host}/team/app:1: "manifest unknown: manifest unknown"`,
    })
  })
})
