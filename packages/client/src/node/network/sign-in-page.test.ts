/** Answers of networks that want a person to sign in, and of services that resemble them. */
import { once } from 'node:events'
import { createServer, type OutgoingHttpHeaders } from 'node:http'
import type { AddressInfo, LookupFunction } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createNodeFetch } from '../node-fetch.ts'
import { createNetwork } from './network.ts'
import { signInPage } from './sign-in-page.ts'

const page = (statusCode: number | undefined, headers: object = {}, url = 'https://id.example/jwks') =>
  signInPage(url, { statusCode, headers: headers as Record<string, string> })
const html = { 'content-type': 'text/html; charset=utf-8' }

it.each([
  [200, html, ''],
  [299, { 'content-type': 'application/xhtml+xml' }, ''],
  [399, html, ''],
  [511, {}, ''],
  [300, { location: 'http://portal.example:81/a' }, ' that leads to portal.example:81'],
  [399, { location: '/login' }, ' that leads to id.example'],
  [302, { location: 'http://[\u0007' }, ' that leads to http://[?'],
  [302, { location: 'https://id.example/login' }, ' that leads to id.example'],
  [302, { location: 'http://id.example/', ...html }, ' that leads to id.example'],
  [302, { location: `data:${'a'.repeat(200)}` }, ` that leads to data:${'a'.repeat(95)}`],
])('%i with %j is a page', (status, headers, where) => {
  const problem = page(status, headers)
  expect(problem).toMatchObject({ name: 'NetworkFailure', reason: 'sign_in_page' })
  expect(problem?.message).toContain(`id.example answered with a page (HTTP ${status})${where}, as networks`)
})

it.each([
  [200, {}],
  [200, { 'content-type': 'application/json' }],
  [400, html],
  [503, { location: 'http://portal.example', ...html }],
  [299, { location: 'http://portal.example' }],
  [400, { location: 'http://portal.example' }],
  [302, {}],
  [301, { location: 'http://id.example/jwks' }],
  [undefined, {}],
])('%s with %j may be the service', (status, headers) => expect(page(status, headers)).toBeUndefined())

it.each(['http://127.0.0.1:1', 'http://localhost'])('what answers on this machine is no network: %s', (url) =>
  expect(page(200, html, url)).toBeUndefined(),
)

it('the status has the page until the service answers, whatever connections are opened meanwhile', async () => {
  let answer: [status: number, headers: OutgoingHttpHeaders] = [302, { Location: 'http://portal.example' }]
  const server = createServer((_, response) => void response.writeHead(...answer).end())
  onTestFinished(() => void server.close().closeAllConnections())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const network = createNetwork({ proxy: 'direct', env: {} })
  const { port } = server.address() as AddressInfo
  const here: LookupFunction = (_, { all }, callback) =>
    all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4)
  Object.assign(
    (network.agentFor('http://id.example', 'service') as unknown as { options: object }).options,
    {
      lookup: here,
    },
  )
  const fetch = createNodeFetch({ network })
  const ask = (host = 'id.example') =>
    fetch(`http://${host}:${port}/`, {
      ...{ method: 'GET', headers: { connection: 'close' }, redirect: 'error' },
      signal: new AbortController().signal,
    }).then(
      ({ status }) => status,
      (cause: Error) => cause.message,
    )
  for (let attempt = 0; attempt < 2; attempt++) {
    expect(await ask()).toContain('that leads to portal.example')
    expect(network.status().problem).toContain(`id.example:${port} answered with a page (HTTP 302)`)
  }
  answer = [200, {}]
  expect(await ask('other.example')).toBe(200)
  expect(network.status().problem).toContain('id.example')
  expect(await ask()).toBe(200)
  expect(network.status().problem).toBeUndefined()
})
