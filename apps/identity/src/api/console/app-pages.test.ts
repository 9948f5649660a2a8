/** The addresses that apps send a browser to: what is shown, what is answered to the app, and at which host name. */
import { OAuthError } from '@selvedge/protocol'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { RefusedRequest } from '../../tokens/authorize/refused-request.ts'
import { addAppPages } from './app-pages.ts'

let app: FastifyInstance
let read: string[]
let problem: Error | undefined
beforeEach(async () => {
  read = []
  problem = undefined
  app = Fastify()
  app.setErrorHandler((cause: OAuthError, _, reply) =>
    reply.code(418).send({ error: cause.code ?? cause.message }),
  )
  addAppPages(app, {
    authorizations: {
      async read(query: string) {
        read.push(query)
        if (problem) throw problem
        return {} as never
      },
    },
    issuer: () => 'https://identity.example',
    site: () => new URL('https://console.example:8443'),
    show: (_, reply) => reply.type('text/html').send('page'),
  })
  await app.ready()
})
afterEach(() => app.close())

const get = (url: string, headers: object = {}) =>
  app.inject({ method: 'GET', url, headers: { host: 'Console.example:8443', ...headers } })
const post = (url: string, payload: string, type = 'application/x-www-form-urlencoded') =>
  app.inject({ method: 'POST', url, payload, headers: { host: 'console.example', 'content-type': type } })

it.each([
  ['/authorize', ''],
  ['/authorize?client_id=c&x=?', 'client_id=c&x=?'],
])('the page of %s is shown for a request that can be read', async (url, query) => {
  expect(await get(url)).toMatchObject({ statusCode: 200, body: 'page' })
  expect(read).toEqual([query])
})

it.each(['/authorize?a=b', '/logout?a=b'])('%s is at the host name of the console', async (url) => {
  const answer = await get(url, { host: 'identity.example' })
  expect(answer).toMatchObject({
    statusCode: 307,
    headers: { location: `https://console.example:8443${url}` },
  })
  expect(read).toEqual([])
})

it('without built pages there are no such addresses', async () => {
  const bare = Fastify()
  addAppPages(bare, {
    authorizations: {} as never,
    issuer: () => '',
    site: () => new URL('x:'),
    show: undefined,
  })
  for (const url of ['/authorize', '/logout'])
    for (const method of ['GET', 'POST'] as const)
      expect((await bare.inject({ method, url })).statusCode).toBe(404)
  await bare.close()
})

it('a logout shows the page', async () => {
  expect(await get('/logout?client_id=c')).toMatchObject({ statusCode: 200, body: 'page' })
})

it('a refusal is answered to the app if its address is known', async () => {
  const error = new OAuthError('invalid_scope', 'no')
  problem = new RefusedRequest(error, { redirectUri: 'https://app.example/cb', state: 's' })
  expect(await get('/authorize?x')).toMatchObject({
    statusCode: 303,
    headers: {
      'referrer-policy': 'no-referrer',
      location: expect.stringMatching(/^https:\/\/app\.example\/cb\?error=invalid_scope&.*iss=https%3A/),
    },
  })
})

it('otherwise a person sees the page, and a program the error', async () => {
  problem = new RefusedRequest(new OAuthError('invalid_scope', 'no'))
  expect(await get('/authorize?x', { accept: 'text/html,*/*' })).toMatchObject({
    statusCode: 400,
    body: 'page',
  })
  for (const headers of [{}, { accept: '*/*' }])
    expect((await get('/authorize?x', headers)).json()).toEqual({ error: 'invalid_scope' })
  problem = new Error('broken')
  expect((await get('/authorize?x', { accept: 'text/html' })).json()).toEqual({ error: 'broken' })
})

it('a query has at most 12,000 characters', async () => {
  expect((await get(`/authorize?${'x'.repeat(12_000)}`)).statusCode).toBe(200)
  expect((await get(`/authorize?${'x'.repeat(12_001)}`)).json()).toEqual({ error: 'invalid_request' })
  expect((await post('/logout', 'x'.repeat(12_001))).json()).toEqual({ error: 'invalid_request' })
})

it.each(['/authorize', '/logout'])('a form at %s becomes a query of the console', async (path) => {
  expect(await post(path, 'client_id=c&a=%20')).toMatchObject({
    statusCode: 303,
    headers: { location: `https://console.example:8443${path}?client_id=c&a=%20` },
  })
  for (const body of ['a=b c', 'ü=1', 'a\r\nb', '\u007f'])
    expect((await post(path, body)).json()).toEqual({ error: 'invalid_request' })
  expect((await post(path, '{}', 'application/json')).statusCode).toBe(418)
})
