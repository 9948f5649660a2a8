/** A backend's view of an issuer that rotates its keys, hangs, or is away. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { edgeAudience, leeway } from '@selvedge/protocol/tokens'
import { createProof, signJws, thumbprint } from '@selvedge/service-kit/tokens'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { AccessTokenError, type AccessTokenVerifier, createAccessTokenVerifier } from './index.ts'

interface Key {
  readonly kid: string
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}
const makeKey = (kid: string): Key => ({ kid, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) })
const jwkOf = ({ publicKey }: Key) => publicKey.export({ format: 'jwk' }) as never

const first = makeKey('first')
const second = makeKey('second')
const holder = makeKey('holder')

let server: Server
let issuer: string
let published: readonly Key[]
let mode: 'answers' | 'hangs' | 'fails'
/** Requests for the key set, or for the metadata. */
let asked: number
const hanging: ServerResponse[] = []
let now: number
let monotonic: number
let verifier: AccessTokenVerifier

beforeEach(async () => {
  published = [first]
  mode = 'answers'
  asked = 0
  now = Date.now()
  monotonic = 0
  server = createServer((request, response) => {
    asked++
    if (mode === 'hangs') return void hanging.push(response)
    if (mode === 'fails') return void response.writeHead(500).end()
    const keys = published.map((each) => ({
      ...(jwkOf(each) as object),
      kid: each.kid,
      alg: 'ES256',
      use: 'sig',
    }))
    const metadata = { issuer, jwks_uri: `${issuer}/jwks`, token_endpoint: `${issuer}/token` }
    response.end(JSON.stringify(request.url === '/jwks' ? { keys } : metadata))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  verifier = createAccessTokenVerifier({ issuer, now: () => now, monotonic: () => monotonic, maxProofs: 100 })
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

let count = 0
function tokenOf(key: Key, changes: object = {}): string {
  const iat = Math.floor(now / 1000)
  const claims = {
    ...{ iss: issuer, sub: 'a', aud: edgeAudience, iat, exp: iat + 86_400, jti: `t${count++}` },
    ...{ client_id: 'c', account_id: 'a', node_id: 'a'.repeat(56), scope: 'openid', azp: 'c' },
    ...changes,
  }
  return signJws({ typ: 'at+jwt', kid: key.kid }, claims, key.privateKey)
}
const outcome = (token: string, request?: Parameters<AccessTokenVerifier['verify']>[1]) =>
  verifier.verify(token, request).then(
    () => 'accepted',
    ({ status, reason }: AccessTokenError) => `${status} ${reason}`,
  )
const advance = (milliseconds: number) => {
  now += milliseconds
  monotonic += milliseconds
}
/** How often something waits for longer than a request may: timers that fire are counted, not time. */
async function answeredWithin<T>(milliseconds: number, call: Promise<T>): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, milliseconds, 'late')
  })
  const result = await Promise.race([call, late])
  clearTimeout(timer)
  return result
}

describe('a key that the issuer has removed', () => {
  it('makes a token that was accepted before worth nothing as soon as its key is removed from the set', async () => {
    const token = tokenOf(first)
    expect(await outcome(token)).toBe('accepted')
    published = [second]
    // A token of the new key brings the new set.
    expect(await outcome(tokenOf(second))).toBe('accepted')
    expect(await outcome(token)).toBe('401 token_untrusted')
  })

  it('is noticed within ten minutes, also if no other token comes', async () => {
    const token = tokenOf(first)
    expect(await outcome(token)).toBe('accepted')
    published = [second]
    advance(600_001)
    expect(await outcome(token)).toBe('401 token_untrusted')
  })

  it('counts as removed if another one has its id', async () => {
    const token = tokenOf(first)
    expect(await outcome(token)).toBe('accepted')
    published = [{ ...makeKey('first') }]
    advance(600_001)
    expect(await outcome(token)).toBe('401 token_untrusted')
  })

  it('that shares its id with another one is no key: nobody can tell which is meant', async () => {
    published = [makeKey('first'), first, second]
    expect(await outcome(tokenOf(first))).toBe('401 token_untrusted')
    expect(await outcome(tokenOf(second))).toBe('accepted')
  })
})

describe('an issuer that hangs', () => {
  it('delays no request with a known key for long', async () => {
    expect(await outcome(tokenOf(first))).toBe('accepted')
    mode = 'hangs'
    advance(3_600_000)
    for (let at = 0; at < 8; at++)
      expect(await answeredWithin(2500, outcome(tokenOf(first)))).toBe('accepted')
    expect(asked).toBe(3)
  })

  it('delays forged tokens once, and sends a few requests for all of them', async () => {
    expect(await outcome(tokenOf(first))).toBe('accepted')
    mode = 'hangs'
    const limit = new AbortController()
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(limit.signal)
    onTestFinished(() => void timeout.mockRestore())
    // Its key may be new: the first one waits until the fetch is given up.
    const late = outcome(tokenOf(makeKey('forged')))
    expect(await answeredWithin(2500, outcome(tokenOf(first)))).toBe('accepted')
    expect(timeout.mock.calls).toEqual([[5000]])
    limit.abort(new DOMException('timeout', 'TimeoutError'))
    expect(await late).toBe('503 identity_unavailable')
    for (let at = 0; at < 8; at++)
      expect(await answeredWithin(2500, outcome(tokenOf(makeKey(`forged ${at}`))))).toBe(
        '503 identity_unavailable',
      )
    expect(await answeredWithin(2500, outcome(tokenOf(first)))).toBe('accepted')
    expect(asked).toBe(3)
  })
})

describe('an issuer that fails', () => {
  it('is asked ever more seldom while no key is known, whatever comes', async () => {
    mode = 'fails'
    const garbage = await Promise.all(
      Array.from({ length: 50 }, (_, at) => outcome(tokenOf(makeKey(`${at}`)))),
    )
    expect(new Set(garbage)).toEqual(new Set(['503 identity_unavailable']))
    expect(asked).toBe(1)
    for (let second = 0; second < 600; second++) {
      advance(1000)
      await outcome(tokenOf(first))
    }
    // After 1, 2, 4, … 64 seconds, and every minute from then on.
    expect(asked).toBeLessThan(20)
    mode = 'answers'
    advance(60_000)
    expect(await outcome(tokenOf(first))).toBe('accepted')
  })

  it('is not believed for longer than any access token lives', async () => {
    expect(await outcome(tokenOf(first))).toBe('accepted')
    mode = 'fails'
    advance(86_000_000)
    expect(await outcome(tokenOf(first))).toBe('accepted')
    advance(500_000)
    expect(await outcome(tokenOf(first))).toBe('503 identity_unavailable')
    mode = 'answers'
    advance(60_000)
    expect(await outcome(tokenOf(first))).toBe('accepted')
  })
})

describe('a token that is bound to a key', () => {
  const url = 'https://backend.example/readings'
  const bound = () => tokenOf(first, { cnf: { jkt: thumbprint(jwkOf(holder)) } })
  const requestWith = (accessToken: string, key = holder) => {
    const clock = { now: () => now }
    const shared = { key: key.privateKey, jwk: jwkOf(key), clock }
    return { method: 'GET', url, proof: createProof({ ...shared, htm: 'GET', htu: url, accessToken }) }
  }

  it('is refused under the scheme Bearer, with a valid proof, too', async () => {
    const token = bound()
    expect(await outcome(`Bearer ${token}`, requestWith(token))).toBe('401 invalid_dpop_proof')
    expect(await outcome(`bearer  ${token}`, requestWith(token))).toBe('401 invalid_dpop_proof')
    expect(await outcome(`DPoP ${token}`, requestWith(token))).toBe('accepted')
  })

  it('is the only one that is accepted under the scheme DPoP', async () => {
    const token = tokenOf(first)
    expect(await outcome(`DPoP ${token}`, requestWith(token))).toBe('401 invalid_dpop_proof')
    expect(await outcome(`Bearer ${token}`)).toBe('accepted')
  })

  it.each([{ cnf: null }, { cnf: 1 }, { cnf: 'x' }, { cnf: [] }, { cnf: {} }, { cnf: { jkt: '' } }])(
    'is malformed with %j as its key confirmation',
    async (cnf) => {
      const token = tokenOf(first, { cnf })
      expect(await outcome(token, requestWith(token))).toBe('401 token_malformed')
    },
  )

  it('keeps its used proofs when a flood of others comes: no proof is valid twice', async () => {
    const token = bound()
    const used = requestWith(token)
    expect(await outcome(token, used)).toBe('accepted')
    const outcomes = new Map<string, number>()
    for (let at = 0; at < 25; at++) {
      const result = await outcome(token, requestWith(token))
      outcomes.set(result, (outcomes.get(result) ?? 0) + 1)
    }
    expect(outcomes).toEqual(
      new Map([
        ['accepted', 9],
        ['503 busy', 16],
      ]),
    )
    expect(await outcome(token, used)).toBe('401 invalid_dpop_proof')
    const another = makeKey('another')
    const theirs = tokenOf(first, { cnf: { jkt: thumbprint(jwkOf(another)) } })
    expect(await outcome(theirs, requestWith(theirs, another))).toBe('accepted')
    advance(121_000)
    const late = bound()
    expect(await outcome(late, requestWith(late))).toBe('accepted')
  })
})

describe('the audience', () => {
  const audience = 'https://reports.example'
  const forReports = () => tokenOf(first, { aud: [audience] })

  it('is the edge itself by default: a token for a backend alone is refused', async () => {
    expect(await outcome(tokenOf(first))).toBe('accepted')
    expect(await outcome(forReports())).toBe('401 token_untrusted')
  })

  it('is the one of the options: tokens for it are accepted, alone or beside others, and no others', async () => {
    verifier = createAccessTokenVerifier({ issuer, audience, now: () => now })
    expect(await outcome(forReports())).toBe('accepted')
    expect(await outcome(tokenOf(first, { aud: [edgeAudience, audience] }))).toBe('accepted')
    expect(await outcome(tokenOf(first))).toBe('401 token_untrusted')
    expect(await outcome(tokenOf(first, { aud: [`${audience}/other`] }))).toBe('401 token_untrusted')
  })
})

describe('a token is refused', () => {
  const refusal = (token: string | undefined, request?: Parameters<AccessTokenVerifier['verify']>[1]) =>
    verifier.verify(token, request).then(
      () => {
        throw new Error('it was accepted')
      },
      (cause: AccessTokenError) => cause,
    )

  it.each<[why: string, token: () => string | undefined, status: number, header: string | undefined]>([
    [
      'that has expired',
      () => tokenOf(first, { iat: 1, exp: 2 }),
      401,
      'Bearer error="invalid_token", error_description="the access token ',
    ],
    [
      'of another issuer, also with a key of this one',
      () => tokenOf(first, { iss: 'https://other.example' }),
      401,
      `Bearer error="invalid_token", error_description="the issuer of the token is not http`,
    ],
    [
      'signed with another key than it names',
      () => tokenOf({ ...second, kid: 'first' }),
      401,
      'Bearer error="invalid_token", error_description="the signature of the token is not that of its issuer"',
    ],
    [
      'of a key that is not one of the issuer',
      () => tokenOf(second),
      401,
      'Bearer error="invalid_token", error_description="the key of the token is not one of http',
    ],
    [
      'that lacks a scope',
      () => tokenOf(first, { scope: 'openid write' }),
      403,
      'Bearer error="insufficient_scope", error_description="the token lacks the scope read admin"',
    ],
    [
      'under the wrong scheme',
      () => `DPoP ${tokenOf(first)}`,
      401,
      'DPoP error="invalid_dpop_proof", algs="ES256"',
    ],
    [
      'while the issuer is unavailable, which is not its fault',
      () => {
        mode = 'fails'
        return tokenOf(first)
      },
      503,
      undefined,
    ],
  ])('%s', async (_, token, status, header) => {
    verifier = createAccessTokenVerifier({ issuer, scope: 'read  write admin', now: () => now })
    const found = await refusal(token())
    expect(found).toMatchObject({ name: 'AccessTokenError', status })
    if (header === undefined) expect(found.wwwAuthenticate).toBeUndefined()
    else expect(found.wwwAuthenticate?.slice(0, header.length)).toBe(header)
    // Only a missing scope and a wrong scheme have no cause.
    const hasCause = found.cause !== undefined
    expect(hasCause).toBe(!header?.includes('scope') && !header?.startsWith('DPoP'))
  })

  it('without one, and without an error in the header', async () => {
    const found = await refusal(undefined)
    expect(found).toMatchObject({ reason: 'token_missing', status: 401, wwwAuthenticate: 'Bearer' })
  })

  it('of another issuer as untrusted', async () => {
    expect(await outcome(tokenOf(first, { iss: 'https://other.example' }))).toBe('401 token_untrusted')
  })

  it('with a header from which the description cannot break out', () => {
    const error = new AccessTokenError('token_malformed', 'a "quoted"\\ line\r\nSet-Cookie: é')
    expect(error.wwwAuthenticate).toBe(
      `Bearer error="invalid_token", error_description="a 'quoted'' line''Set-Cookie: '"`,
    )
  })

  it('with the cause of a proof, and 503 if too many were used', async () => {
    const token = tokenOf(first, { cnf: { jkt: thumbprint(jwkOf(holder)) } })
    const url = 'https://backend.example/'
    const clock = { now: () => now }
    const proof = () =>
      createProof({
        key: holder.privateKey,
        jwk: jwkOf(holder),
        clock,
        htm: 'GET',
        htu: url,
        accessToken: token,
      })
    expect(await refusal(token)).toMatchObject({
      reason: 'invalid_dpop_proof',
      cause: { name: 'DpopError' },
    })
    verifier = createAccessTokenVerifier({ issuer, now: () => now, maxProofs: 1 })
    await verifier.verify(token, { method: 'GET', url, proof: proof() })
    const busy = await refusal(token, { method: 'GET', url, proof: proof() })
    expect(busy).toMatchObject({ reason: 'busy', status: 503, cause: { name: 'DpopError' } })
    expect(busy.wwwAuthenticate).toBeUndefined()
    // A mistake of the backend is not a refusal.
    await expect(verifier.verify(token, { method: 'GET', url: '/', proof: proof() })).rejects.toThrow(
      TypeError,
    )
  })
})

it('the claims of a token with every scope are returned', async () => {
  verifier = createAccessTokenVerifier({ issuer, scope: ' read write ' })
  expect(await verifier.verify(tokenOf(first, { scope: 'write openid read' }))).toMatchObject({
    iss: issuer,
    account_id: 'a',
    scope: 'write openid read',
  })
})

describe('a token that was verified', () => {
  /** @returns how many signatures were verified so far */
  function countVerified(): () => number {
    const verify = vi.spyOn(crypto.subtle, 'verify')
    onTestFinished(() => verify.mockRestore())
    return () => verify.mock.calls.length
  }

  it('is not verified again, also after another fetch of the same keys', async () => {
    const verified = countVerified()
    const token = tokenOf(first)
    for (const milliseconds of [0, 1000, 600_001]) {
      advance(milliseconds)
      expect(await outcome(token)).toBe('accepted')
    }
    expect(verified()).toBe(1)
  })

  it('is refused when it has expired, after the leeway for clocks', async () => {
    const verified = countVerified()
    const token = tokenOf(first, { exp: Math.floor(now / 1000) + 60 })
    now = Math.floor(now / 1000) * 1000
    expect(await outcome(token)).toBe('accepted')
    advance((60 + leeway) * 1000 - 1)
    expect(await outcome(token)).toBe('accepted')
    expect(verified()).toBe(1)
    advance(1)
    expect(await outcome(token)).toBe('401 token_expired')
  })

  it('is forgotten when a thousand others came after it, and the newest are not', async () => {
    const verified = countVerified()
    const tokens = Array.from({ length: 1001 }, () => tokenOf(first))
    for (const token of tokens) expect(await outcome(token)).toBe('accepted')
    expect(verified()).toBe(1001)
    for (const token of tokens.slice(1)) await outcome(token)
    expect(verified()).toBe(1001)
    await outcome(tokens[0]!)
    expect(verified()).toBe(1002)
  })
})

describe('an issuer that cannot be one', () => {
  it.each([
    '',
    'identity.example.com',
    'ftp://identity.example.com',
    'https://a.example/?tenant=b',
    'https://a.example/#b',
    'https://a b.example',
    'about:https://a.example',
  ])('is refused when the verifier is created: %j', (wrong) => {
    expect(() => createAccessTokenVerifier({ issuer: wrong })).toThrow(TypeError)
    expect(() => createAccessTokenVerifier({ issuer: wrong })).toThrow(
      'expected the URL of the identity service',
    )
  })
})

it.each(['https://a.example', 'http://a.example:8084/tenant', 'HTTPS://A.EXAMPLE'])(
  'the issuer may be %s',
  (issuer) => {
    expect(() => createAccessTokenVerifier({ issuer })).not.toThrow()
  },
)
