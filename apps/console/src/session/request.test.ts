/** Requests of a page: each has a proof with a fresh nonce, and is repeated once if the service wants another nonce. */
import { openProof } from '@selvedge/protocol/tokens'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { SignedFetch } from './request.ts'

let now: number
let answers: Response[]
let sent: {
  url: string
  method: string | undefined
  nonce: unknown
  headers: Record<string, string>
  init: RequestInit
}[]
let nonceOfPage: string | undefined

const load = async (): Promise<SignedFetch> => {
  vi.resetModules()
  return (await import('./request.ts')).signedFetch
}
beforeEach(() => {
  now = 1000
  answers = []
  sent = []
  nonceOfPage = 'page'
  vi.stubGlobal('location', { origin: 'https://console.example' })
  vi.stubGlobal('isSecureContext', true)
  vi.stubGlobal('indexedDB', {
    open() {
      throw new DOMException('nothing is stored')
    },
  })
  const serverTiming = () => [
    { name: 'other', description: 'x' },
    ...(nonceOfPage === undefined ? [] : [{ name: 'nonce', description: nonceOfPage }]),
  ]
  vi.spyOn(performance, 'getEntriesByType').mockImplementation((type) =>
    type === 'navigation' ? ([{ responseStart: 0, serverTiming: serverTiming() }] as never) : [],
  )
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  vi.stubGlobal('fetch', async (url: URL | string, init: RequestInit) => {
    const headers = (init.headers ?? {}) as Record<string, string>
    const proof = headers.DPoP === undefined ? undefined : openProof(headers.DPoP).jws.payload
    sent.push({ url: String(url), method: init.method, nonce: proof?.nonce, headers, init })
    return answers.shift() ?? new Response('{}')
  })
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

const answer = (status: number, body: string, nonce?: string) =>
  new Response(body, { status, headers: nonce === undefined ? {} : { 'DPoP-Nonce': nonce } })
const wanted = (nonce: string) => answer(401, '{"error":"use_dpop_nonce"}', nonce)
const nonces = () => sent.map((each) => each.nonce)

it('a request has the proof of its method, address and body, and follows no redirect', async () => {
  const signedFetch = await load()
  const { signal } = new AbortController()
  await signedFetch('/api?a=b', { method: 'POST', headers: { Accept: 'x' }, body: 'text', signal })
  const [{ url, method, headers, init }] = sent as [(typeof sent)[0]]
  expect([url, method, headers.Accept]).toEqual(['https://console.example/api?a=b', 'POST', 'x'])
  expect(init).toMatchObject({ redirect: 'error', body: 'text', signal })
  expect(openProof(headers.DPoP!).jws.payload).toMatchObject({
    ...{ htm: 'POST', htu: 'https://console.example/api', nonce: 'page', bh: expect.any(String) },
  })
  await signedFetch('/api')
  expect(sent[1]!.method).toBe('GET')
  expect(sent[1]!.init).not.toHaveProperty('body')
  expect(sent[1]!.init).not.toHaveProperty('signal')
})

it('the nonce of an answer is for the next request', async () => {
  const signedFetch = await load()
  answers = [answer(200, '{}', 'next')]
  await signedFetch('/api')
  await signedFetch('/api')
  expect(nonces()).toEqual(['page', 'next'])
})

it('a nonce is fetched if there is no fresh one', async () => {
  nonceOfPage = undefined
  let signedFetch = await load()
  answers = [answer(204, null as never, 'fetched')]
  const { signal } = new AbortController()
  await signedFetch('/api', { signal })
  expect(sent[0]).toMatchObject({ url: '/console/nonce', init: { redirect: 'error', signal } })
  expect(nonces()).toEqual([undefined, 'fetched'])
  now += 90_000
  await signedFetch('/api')
  now += 1
  answers = [answer(204, null as never, 'later')]
  await signedFetch('/api')
  expect(nonces().slice(2)).toEqual(['fetched', undefined, 'later'])
  nonceOfPage = 'old'
  now = 90_001
  signedFetch = await load()
  await signedFetch('/api')
  expect(sent[5]!.url).toBe('/console/nonce')
})

it('a request is repeated once with the nonce that the service wants', async () => {
  const signedFetch = await load()
  const done = answer(200, 'done')
  answers = [wanted('one'), done]
  expect(await signedFetch('/api')).toBe(done)
  expect(nonces()).toEqual(['page', 'one'])
  const last = wanted('three')
  answers = [wanted('two'), last]
  expect(await signedFetch('/api')).toBe(last)
  expect(await last.text()).toBe('{"error":"use_dpop_nonce"}')
  expect(sent).toHaveLength(4)
})

it.each([
  [200, '{"error":"use_dpop_nonce"}'],
  [401, '{"error":"invalid_token"}'],
  [502, 'not json'],
  [502, 'null'],
])('an answer of %i with %s is not repeated, and can be read', async (status, body) => {
  const signedFetch = await load()
  answers = [answer(status, body)]
  expect(await (await signedFetch('/api')).text()).toBe(body)
  expect(sent).toHaveLength(1)
})
