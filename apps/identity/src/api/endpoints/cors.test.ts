/** Which pages may read an answer: those of the client of the request, and of any project where the answer is public. */
import { createFakeClock } from '@selvedge/service-kit/testing'
import { signJws } from '@selvedge/service-kit/tokens'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestIssuer, projectOf } from '../../../../../tests/harness/grants.ts'
import { addCors, corsOfClient } from './cors.ts'

const [own, others, evil] = ['https://app.example', 'https://other.example', 'https://evil.example'] as const
const projects = {
  async find(id: string) {
    if (typeof id !== 'string') throw new TypeError('the ID of a project is a text')
    return id === 'c' || id === 'off' ? projectOf({ origins: [own], active: id === 'c' }) : undefined
  },
}
const allowed = {
  'access-control-allow-origin': own,
  'access-control-expose-headers': 'DPoP-Nonce, WWW-Authenticate',
  vary: 'Origin',
}
const { privateKey } = createTestIssuer(createFakeClock())
const tokenOf = (client: unknown) => signJws({ typ: 'at+jwt' }, { client_id: client }, privateKey)

const documents = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server', '/jwks']

let app: FastifyInstance
beforeAll(() => {
  app = Fastify()
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_, body, done) =>
    done(null, body),
  )
  addCors(app, { projects, isKnownOrigin: async (origin) => origin === own || origin === others })
  for (const path of [...documents, '/userinfo', '/edge/token']) app.get(path, async () => 'x')
  for (const path of ['/revoke', '/par']) app.post(path, async () => 'x')
})
afterAll(() => app.close())

async function corsOf(
  method: 'GET' | 'POST' | 'OPTIONS',
  url: string,
  headers: Record<string, string>,
  payload?: string,
) {
  const response = await app.inject({
    ...{
      method,
      url,
      headers: {
        ...(payload !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...headers,
      },
    },
    ...(payload !== undefined && { payload }),
  })
  const found = Object.entries(response.headers).filter(
    ([name]) => name.startsWith('access-') || name === 'vary',
  )
  return { status: response.statusCode, cors: Object.fromEntries(found) }
}

describe('an answer to a client', () => {
  it('may be read from the origins of its active project', async () => {
    const lower = async (...of: Parameters<typeof corsOfClient>) =>
      Object.fromEntries(
        Object.entries(await corsOfClient(...of)).map(([name, value]) => [name.toLowerCase(), value]),
      )
    expect(await lower(projects, own, 'c')).toEqual(allowed)
    expect(await lower(projects, others, 'c')).toEqual({ vary: 'Origin' })
    expect(await lower(projects, own, 'off')).toEqual({ vary: 'Origin' })
    expect(await lower(projects, own, 'unknown')).toEqual({ vary: 'Origin' })
    expect(await lower(projects, own, undefined)).toEqual({ vary: 'Origin' })
    expect(await lower(projects, undefined, 'c')).toEqual({})
  })

  it.each(['/revoke', '/par'])('at %s is for the client of its form', async (url) => {
    expect((await corsOf('POST', url, { origin: own }, 'client_id=c')).cors).toEqual(allowed)
    expect((await corsOf('POST', url, { origin: evil }, 'client_id=c')).cors).toEqual({ vary: 'Origin' })
    expect((await corsOf('POST', url, { origin: own }, 'client_id=c&client_id=c')).cors).toEqual({
      vary: 'Origin',
    })
    expect((await corsOf('POST', url, { origin: own }, 'a=b')).cors).toEqual({ vary: 'Origin' })
    expect((await corsOf('POST', url, {}, 'client_id=c')).cors).toEqual({})
  })

  it('at /userinfo is for the client of its token', async () => {
    const get = async (authorization: string | undefined) =>
      (
        await corsOf('GET', '/userinfo', {
          origin: own,
          ...(authorization !== undefined && { authorization }),
        })
      ).cors
    expect(await get(`Bearer ${tokenOf('c')}`)).toEqual(allowed)
    for (const other of [
      undefined,
      `Bearer ${tokenOf('x')}`,
      `Bearer ${tokenOf(7)}`,
      'Bearer x.y',
      'Basic x',
    ])
      expect(await get(other)).toEqual({ vary: 'Origin' })
  })
})

describe('a public document', () => {
  it.each(documents)(
    '%s may be read from an origin of any project, and a cache separates the answers',
    async (url) => {
      expect(await corsOf('GET', url, { origin: others })).toEqual({
        status: 200,
        cors: { ...allowed, 'access-control-allow-origin': others },
      })
      for (const headers of [{ origin: evil }, {}])
        expect(await corsOf('GET', url, headers as never)).toEqual({ status: 200, cors: { vary: 'Origin' } })
    },
  )
})

it('another endpoint may be read from no page', async () => {
  expect(await corsOf('GET', '/edge/token', { origin: own })).toEqual({ status: 200, cors: {} })
  expect(await corsOf('GET', '/unknown', { origin: own })).toEqual({ status: 404, cors: {} })
})

describe('a preflight request', () => {
  it.each([
    ...['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server', '/jwks'],
    ...['/userinfo', '/revoke', '/par', '/token'],
  ])('for %s is allowed from an origin of any project', async (url) => {
    expect(await corsOf('OPTIONS', url, { origin: others })).toEqual({
      status: 204,
      cors: {
        ...allowed,
        ...{ 'access-control-allow-origin': others, 'access-control-allow-methods': 'GET, POST' },
        'access-control-allow-headers': 'Authorization, Content-Type, DPoP',
        'access-control-max-age': '600',
      },
    })
    for (const headers of [{ origin: evil }, {}])
      expect(await corsOf('OPTIONS', url, headers as never)).toEqual({
        status: 204,
        cors: { vary: 'Origin' },
      })
  })
})
