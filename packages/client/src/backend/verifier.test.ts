/** A backend's view of an issuer that rotates its keys, hangs, or is away. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { edgeAudience } from '@selvedge/protocol/tokens'
import { createProof, signJws, thumbprint } from '@selvedge/service-kit/tokens'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type AccessTokenError, type AccessTokenVerifier, createAccessTokenVerifier } from './index.ts'

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
    // Its key may be new: the first one waits until the fetch is given up.
    const late = outcome(tokenOf(makeKey('forged')))
    expect(await answeredWithin(2500, outcome(tokenOf(first)))).toBe('accepted')
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

describe('an issuer that cannot be one', () => {
  it.each([
    '',
    'identity.example.com',
    'ftp://identity.example.com',
    'https://a.example/?tenant=b',
    'https://a.example/#b',
  ])('is refused when the verifier is created: %j', (wrong) => {
    expect(() => createAccessTokenVerifier({ issuer: wrong })).toThrow(TypeError)
    expect(() => createAccessTokenVerifier({ issuer: wrong })).toThrow(
      'expected the URL of the identity service',
    )
  })
})
