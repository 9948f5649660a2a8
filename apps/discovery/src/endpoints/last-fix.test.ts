/** Who reads where a node was last. */
import { discoveryPaths, OAuthError } from '@selvedge/protocol'
import { accessProfile, edgeAudience, TokenError } from '@selvedge/protocol/tokens'
import { createHttpApp } from '@selvedge/service-kit/http-app'
import { createLog } from '@selvedge/service-kit/log'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KnownLocation } from '../stores/location-store.ts'
import { addLastFixEndpoint } from './last-fix.ts'

const own = 'a'.repeat(56)
const other = 'b'.repeat(56)
const clock = createFakeClock()
const location: KnownLocation = {
  nodeId: own,
  nodeName: 'n',
  accountId: 'account-1@tenant',
  sharing: { account: 'exact', others: 'none' },
  longitude: 13.123456,
  latitude: 52.123456,
  speed: 7,
  bearing: 8,
  accuracy: 9,
  fixedAt: clock.now() - 90_500,
  receivedAt: clock.now() - 60_000,
  heardAt: clock.now(),
  source: 'api',
  suspect: true,
}
let claims: { node_id: string; account_id: string; iss: string; scope: string }
/** Why the token is not valid any more. */
let against: string | undefined
/** The last location of each node for its account. */
let known: Record<string, KnownLocation>
let asked: unknown[]
let app: ReturnType<typeof createHttpApp>
beforeEach(() => {
  claims = { node_id: own, account_id: 'account-1', iss: 'https://tenant.example', scope: 'openid' }
  against = undefined
  known = { [own]: location, [other]: { ...location, nodeId: other } }
  asked = []
  const log = createLog({ service: 'discovery', level: 'error', now: Date.now }, () => undefined)
  app = createHttpApp(log, 1024, { vital: [] })
  addLastFixEndpoint(app, {
    clock,
    store: {
      last: async (account: string, ids: string[]) => {
        asked.push([account, ids])
        return ids.map((id) => known[id])
      },
    } as never,
    trust: {
      tenantVerifier: {
        verify: (token: string, profile: unknown, audience: string) => {
          if (token !== 'token' || profile !== accessProfile || audience !== edgeAudience)
            throw new TokenError('token_untrusted', 'the token is another one')
          return claims
        },
      } as never,
      reasonAgainst: async () => against,
      realms: {
        ofTenant(issuer: string, account: string) {
          if (issuer !== 'https://tenant.example') throw new OAuthError('invalid_token', 'no tenant')
          return `${account}@tenant`
        },
      } as never,
    },
    proof: () => ({ dpop: {} as never, url: 'https://discovery.example' }),
  })
})
afterEach(() => app.close())

async function ask(nodeId: string, authorization = 'Bearer token') {
  const { statusCode, body, headers } = await app.inject({
    url: discoveryPaths.fixOf(nodeId),
    headers: { authorization },
  })
  return { status: statusCode, text: body, body: JSON.parse(body), headers }
}

describe('the last fix of a node', () => {
  it('is read with a token for the node', async () => {
    const answer = await ask(own)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      nodeId: own,
      nodeName: 'n',
      accountId: 'account-1',
      longitude: 13.123456,
      latitude: 52.123456,
      speed: 7,
      bearing: 8,
      accuracy: 9,
      precision: 'exact',
      source: 'api',
      suspect: true,
      fixedAt: '2025-12-31T23:58:29.500Z',
      receivedAt: '2025-12-31T23:59:00.000Z',
      ageSeconds: 90,
    })
    expect(answer.headers).not.toHaveProperty('www-authenticate')
    expect(asked).toEqual([['account-1@tenant', [own]]])
  })

  it('is read by another node of the account only with the scope for that', async () => {
    expect(await ask(other)).toMatchObject({ status: 403, body: { error: 'insufficient_scope' } })
    expect(asked).toEqual([])
    claims.scope = 'openid edge:clusters'
    expect((await ask(other)).body.nodeId).toBe(other)
  })

  it('names the scope that is missing, and what needs it', async () => {
    const { error_description } = (await ask(other)).body
    expect(error_description).toMatch(/the location of another node.*edge:clusters/)
  })

  it('is not found where the node is not of the account, or shares nothing with it', async () => {
    known = {}
    expect(await ask(own)).toMatchObject({ status: 404, body: { error: 'not_found' } })
    known = { [own]: { ...location, sharing: { account: 'none', others: 'exact' } } }
    const hidden = await ask(own)
    expect(hidden.status).toBe(404)
    expect(hidden.text).not.toMatch(/13\.|52\./)
  })

  it('is as exact as the node allows its account', async () => {
    known = { [own]: { ...location, sharing: { account: 'city', others: 'none' } } }
    const { body } = await ask(own)
    expect(body).toMatchObject({ precision: 'city', speed: 0, bearing: 0 })
    expect(body).not.toHaveProperty('accuracy')
  })

  it('is of no negative age, however wrong the clock of the node is', async () => {
    known = { [own]: { ...location, fixedAt: clock.now() + 5000 } }
    expect((await ask(own)).body.ageSeconds).toBe(0)
  })

  it.each([
    ['without a token', ''],
    ['with another token', 'Bearer other'],
    ['with a token under the wrong scheme', 'DPoP token'],
  ])('is refused %s', async (_, authorization) => {
    const answer = await ask(own, authorization)
    expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_token' } })
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer/)
    expect(asked).toEqual([])
  })

  it('is refused with a token that was revoked', async () => {
    against = 'it was revoked'
    expect(await ask(own)).toMatchObject({ status: 401, body: { error: 'invalid_token' } })
    expect(asked).toEqual([])
  })
})
