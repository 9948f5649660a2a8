/** When requests of a command carry a proof, and for what. */
import type { Fetch, ProofKey } from '@selvedge/client'
import { expect, it } from 'vitest'
import { UsageError } from '../failure.ts'
import { createBoundToken } from './bound-token.ts'
import { checkService } from './check-service.ts'

const key = { prove: async (request: object) => JSON.stringify(request) } as unknown as ProofKey
const url = 'http://127.0.0.1:8083'
const init = (headers: Record<string, string> = {}) =>
  ({ method: 'POST', headers: { a: 'b', ...headers }, redirect: 'error' }) as unknown as Parameters<Fetch>[1]

function connect(more: object = {}) {
  const asked: Parameters<Fetch>[] = []
  const fetch: Fetch = async (...request) => {
    asked.push(request)
    const headers = { get: (name: string) => (name === 'dpop-nonce' ? 'nonce' : null) }
    return { status: 400, headers, text: async () => '' }
  }
  const bound = createBoundToken()
  const connection = { url, apiKey: 'k', fetch, ...more }
  return { bound, asked, connection, bindTo: bound.connect(connection) }
}

it('a request has no proof while there is no local token', async () => {
  const { bound, asked, bindTo } = connect()
  const request = init()
  await bindTo.fetch!(`${url}/rpc`, request)
  expect(asked).toEqual([[`${url}/rpc`, request]])
  expect(bound.prove()).toBeUndefined()
})

it('a request has a proof for the local token, its URL under the scheme of the runtime, and a nonce of it', async () => {
  const { bound, asked, bindTo } = connect()
  bound.use('token', key, 'https')
  await bindTo.fetch!(`${url}/rpc`, init())
  const [, { headers, method }] = asked.at(-1)!
  expect([headers.a, method]).toEqual(['b', 'POST'])
  expect(JSON.parse(headers.DPoP!)).toEqual({
    ...{ method: 'POST', url: 'https://127.0.0.1:8083/rpc', accessToken: 'token', nonce: 'nonce' },
  })
  expect(JSON.parse(await bound.prove()!('GET', `${url}/x`))).toMatchObject({ method: 'GET', nonce: 'nonce' })
})

it('a request with a proof of its own keeps it', async () => {
  const { bound, asked, bindTo } = connect()
  bound.use('token', key, 'http')
  await bindTo.fetch!(`${url}/token`, init({ DPoP: 'own' }))
  expect(asked).toHaveLength(1)
  expect(asked[0]![1].headers).toEqual({ a: 'b', DPoP: 'own' })
})

it('the connection is the same one, also when it changes', () => {
  const { connection, bindTo } = connect()
  expect([bindTo.url, bindTo.apiKey]).toEqual([url, 'k'])
  Object.assign(connection, { url: 'http://other', apiKey: 'l' })
  expect([bindTo.url, bindTo.apiKey]).toEqual(['http://other', 'l'])
})

it.each(['identity', 'discovery'] as const)(
  'the %s service is asked without a credential whether it answers',
  async (name) => {
    const asked: string[] = []
    const whyNoAnswer = async (path: string) => void asked.push(path)
    const findService = async () => ({ url: 'https://id.example' }) as never
    expect(await checkService({ findService, whyNoAnswer: whyNoAnswer as never }, name)).toEqual({
      ...{ url: 'https://id.example', answers: true, problem: '', hint: '' },
    })
    expect(asked).toEqual(['https://id.example/healthz'])
    const unknown = () => Promise.reject(new UsageError('not known', 'h'))
    expect(await checkService({ findService: unknown, whyNoAnswer: whyNoAnswer as never }, name)).toEqual({
      ...{ url: null, answers: false, problem: 'not known', hint: 'h' },
    })
    await expect(
      checkService(
        { findService: () => Promise.reject(new Error('x')), whyNoAnswer: whyNoAnswer as never },
        name,
      ),
    ).rejects.toThrow('x')
  },
)
