/** Who may send a request: a token with the proof of its key, of its own node, with its scope, and not revoked. */
import { generateKeyPairSync } from 'node:crypto'
import { OAuthError } from '@selvedge/protocol'
import { accessProfile, edgeAudience, type PublicJwk, UsedProofs } from '@selvedge/protocol/tokens'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createFakeClock } from '../testing/index.ts'
import {
  createDpopVerifier,
  createProof,
  createTokenVerifier,
  nodeIdOf,
  signJws,
  thumbprint,
} from '../tokens/index.ts'
import {
  proofAsOAuth,
  requireBinding,
  requireNode,
  requireProof,
  requireScope,
  requireShown,
  requireToken,
} from './require-proof.ts'

const keyPair = () => {
  const { privateKey: key, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { key, publicKey, jwk: publicKey.export({ format: 'jwk' }) as unknown as PublicJwk }
}
const issuerKey = keyPair()
const own = keyPair()
const stranger = keyPair()
const issuer = 'https://identity.example'
const url = 'https://service.example'
const clock = createFakeClock()
const now = Math.floor(clock.now() / 1000)
const dpop = createDpopVerifier(Buffer.alloc(32), clock)
const verifier = createTokenVerifier({
  issuers: () => [{ issuer, findKey: () => issuerKey.publicKey }],
  clock,
  remembered: 0,
})

let sent: Record<string, unknown>
const reply = {
  header(name: string, value: unknown) {
    sent[name] = value
    return reply
  },
} as FastifyReply
const requestOf = (headers: object, path = '/x?y', method = 'GET') =>
  ({ method, url: path, headers }) as unknown as FastifyRequest

interface Proven {
  readonly by?: typeof own
  readonly accessToken?: string
  readonly htu?: string
  readonly htm?: string
  readonly body?: string
}
const proofOf = ({ by = own, htu = `${url}/x`, htm = 'GET', ...more }: Proven) =>
  createProof({ key: by.key, jwk: by.jwk, clock, htm, htu, nonce: dpop.nonce(), ...more })

const sign = (typ: string, more: object) =>
  signJws(
    { typ, kid: 'k' },
    { iss: issuer, sub: 'a', aud: edgeAudience, iat: now, exp: now + 3600, jti: 'j', ...more },
    issuerKey.key,
  )
const accessToken = (more: object = {}) =>
  sign('at+jwt', {
    ...{ client_id: 'c', account_id: 'a', node_id: nodeIdOf(own.jwk), scope: 'openid' },
    ...{ act: { sub: nodeIdOf(own.jwk) }, azp: 'c', auth_time: now },
    ...more,
  })
const edgeToken = (more: object = {}) =>
  sign('edge-id+jwt', {
    ...{ node_id: nodeIdOf(own.jwk), node_name: '', cnf: { jkt: thumbprint(own.jwk) } },
    ...more,
  })

beforeEach(() => {
  sent = {}
})
afterEach(() => void vi.restoreAllMocks())

const refusal = (code: string, message: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) })
const isRefused = (work: Promise<unknown>, code: string, message: RegExp) =>
  expect(work).rejects.toEqual(refusal(code, message))

describe('a proof', () => {
  const prove = (headers: object, shown?: Parameters<typeof requireProof>[3], path?: string) =>
    requireProof({ dpop, url }, requestOf(headers, path), reply, shown)

  it('is of the method and the URL of its request, without the query', async () => {
    const { jkt } = await prove({ dpop: proofOf({}) })
    expect(jkt).toBe(thumbprint(own.jwk))
    await isRefused(prove({ dpop: proofOf({ htu: `${url}/z` }) }), 'invalid_dpop_proof', /./)
    await isRefused(prove({ dpop: proofOf({ htm: 'POST' }) }), 'invalid_dpop_proof', /./)
    await isRefused(prove({ dpop: proofOf({ htu: 'https://other.example/x' }) }), 'invalid_dpop_proof', /./)
    expect(await prove({ dpop: proofOf({}) }, {}, '/x')).toBeDefined()
  })

  it.each([
    ['missing', {}],
    ['twice', { dpop: ['a', 'b'] }],
  ])('%s is refused, with a nonce for the next one', async (_, headers) => {
    await isRefused(prove(headers), 'invalid_dpop_proof', /no DPoP header/)
    expect(sent['DPoP-Nonce']).toBe(dpop.nonce())
  })

  it('covers the token and the body where it must', async () => {
    const accessToken = 't'
    expect(await prove({ dpop: proofOf({ accessToken }) }, { accessToken })).toBeDefined()
    await isRefused(prove({ dpop: proofOf({}) }, { accessToken }), 'invalid_dpop_proof', /./)
    expect(await prove({ dpop: proofOf({ body: 'b' }) }, { body: 'b' })).toBeDefined()
    await isRefused(prove({ dpop: proofOf({ body: 'b' }) }, { body: 'c' }), 'invalid_dpop_proof', /./)
  })

  it('of one account is counted with all others of it, whatever their keys', async () => {
    const use = vi.spyOn(UsedProofs.prototype, 'use')
    for (const account_id of ['a', 'b', undefined]) {
      const claims = { iss: issuer, cnf: { jkt: thumbprint(own.jwk) }, ...(account_id && { account_id }) }
      const request = requestOf({ dpop: proofOf({ accessToken: 't' }) })
      await requireBinding({ dpop, url }, { scheme: 'DPoP', token: 't' }, claims, request, reply)
    }
    expect(use.mock.calls.map(([, , , owner]) => owner)).toEqual([`${issuer} a`, `${issuer} b`, undefined])
  })

  it('that is refused for a reason of its own keeps that reason; what is no refusal passes', async () => {
    const broken = new RangeError('broken')
    await expect(proofAsOAuth(() => Promise.reject(broken))).rejects.toBe(broken)
    expect(await proofAsOAuth(() => 1)).toBe(1)
  })
})

describe('a token', () => {
  interface Asked {
    readonly authorization?: string | undefined
    readonly proof?: string
    readonly reason?: string
    readonly audience?: string
  }
  const ask = ({ authorization, proof, reason, audience = edgeAudience }: Asked) =>
    requireToken(
      { dpop, url, verifier, profile: accessProfile, audience, reasonAgainst: () => reason },
      requestOf({ authorization, dpop: proof }),
      reply,
    )
  const bound = accessToken({ cnf: { jkt: thumbprint(own.jwk) } })

  it('that is bound to no key is accepted as Bearer, and only so', async () => {
    const token = accessToken()
    expect(await ask({ authorization: `Bearer ${token}` })).toMatchObject({ account_id: 'a' })
    await isRefused(ask({ authorization: `DPoP ${token}` }), 'invalid_token', /bound to no key/)
    // Nothing needs a nonce.
    expect(sent).toEqual({})
  })

  it('that is bound to a key needs a proof of that key for that token', async () => {
    const authorization = `DPoP ${bound}`
    expect(await ask({ authorization, proof: proofOf({ accessToken: bound }) })).toBeDefined()
    await isRefused(ask({ authorization }), 'invalid_dpop_proof', /no DPoP header/)
    const byStranger = proofOf({ accessToken: bound, by: stranger })
    await isRefused(ask({ authorization, proof: byStranger }), 'invalid_token', /another key/)
    const forOther = proofOf({ accessToken: accessToken() })
    await isRefused(ask({ authorization, proof: forOther }), 'invalid_dpop_proof', /./)
    const asBearer = { authorization: `Bearer ${bound}`, proof: proofOf({ accessToken: bound }) }
    await isRefused(ask(asBearer), 'invalid_token', /bound to a key/)
  })

  it('is refused if it is missing, for something else, or not genuine', async () => {
    await isRefused(ask({}), 'invalid_token', /send the access token as/)
    await isRefused(ask({ authorization: 'Basic abc' }), 'invalid_token', /send the access token as/)
    const authorization = `Bearer ${accessToken()}`
    await isRefused(ask({ authorization, audience: 'urn:other' }), 'invalid_token', /./)
    await isRefused(ask({ authorization: `${authorization.slice(0, -8)}AAAAAAAA` }), 'invalid_token', /./)
    expect(() => requireShown(requestOf({}), 'key')).toThrow(OAuthError)
  })

  it('that is revoked is refused with the reason', async () => {
    const authorization = `Bearer ${accessToken()}`
    await isRefused(ask({ authorization, reason: 'it was revoked' }), 'invalid_token', /any more: it was rev/)
  })
})

it('a scope that a token does not have is named with those that it has', () => {
  expect(() => requireScope({ scope: 'openid email' }, 'openid', 'this')).not.toThrow()
  const refused = (scope: string) => {
    try {
      requireScope({ scope }, 'edge:mcm', 'the list')
    } catch (cause) {
      return cause
    }
    return undefined
  }
  expect(refused('openid')).toEqual(
    refusal('insufficient_scope', /^the list needs the scope edge:mcm; the token has openid$/),
  )
  expect(refused('')).toEqual(refusal('insufficient_scope', /has none$/))
})

describe('a node', () => {
  interface Asked {
    readonly token?: string
    readonly scheme?: string
    readonly by?: typeof own
    readonly reason?: string
    readonly audience?: string
    readonly body?: string
    readonly proven?: string
  }
  const ask = ({ token = edgeToken(), scheme = 'DPoP', by = own, reason, audience, body, proven }: Asked) =>
    requireNode(
      { dpop, url, verifier, audience: audience ?? edgeAudience, reasonAgainst: async () => reason },
      requestOf({
        authorization: `${scheme} ${token}`,
        dpop: proofOf({ by, accessToken: token, ...(proven !== undefined && { body: proven }) }),
      }),
      reply,
      body,
    )

  it('shows its edge ID token with a proof of its own key', async () => {
    expect(await ask({})).toMatchObject({ node_id: nodeIdOf(own.jwk) })
    expect(sent['DPoP-Nonce']).toBe(dpop.nonce())
    expect(await ask({ body: 'b', proven: 'b' })).toBeDefined()
    await isRefused(ask({ body: 'b', proven: 'c' }), 'invalid_dpop_proof', /./)
    await isRefused(ask({ body: 'b' }), 'invalid_dpop_proof', /./)
  })

  it.each([
    ['as Bearer', { scheme: 'Bearer' }, /send the edge ID token as/],
    ['as nothing that is known', { scheme: 'Basic' }, /send the edge ID token as/],
    ['with the proof of another key', { by: stranger }, /bound to another key/],
    ['for another service', { audience: 'urn:other' }, /./],
    ['of another kind', { token: accessToken() }, /./],
    ['that was revoked', { reason: 'its node was blocked' }, /any more: its node was blocked/],
  ])('is refused %s', async (_, asked, message) => {
    await isRefused(ask(asked), 'invalid_token', message)
  })

  it('cannot have the ID of another one: the ID is the hash of its key', async () => {
    const token = edgeToken({ cnf: { jkt: thumbprint(stranger.jwk) } })
    await isRefused(ask({ token, by: stranger }), 'invalid_token', /another node than the key/)
  })
})
