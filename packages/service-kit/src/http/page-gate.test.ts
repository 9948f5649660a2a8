/** Which pages a browser lets call: those of the configuration, and the own page by its nonce. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import type { GuardedHeaders } from './guard.ts'
import { createPageGate, isCallPath, isSocketPath } from './page-gate.ts'

const allowed = 'https://app.example'
const own = 'http://localhost:8083'
const nonce = 'n1'
const gate = createPageGate({ port: 8083, hosts: [], allowedOrigins: [allowed] }, nonce)
const call = '/jsonrpc/v1'

const headersOf = (more: Partial<GuardedHeaders>): GuardedHeaders => ({
  ...{ host: 'localhost:8083', origin: undefined, referer: undefined, fetchSite: undefined },
  ...{ contentType: 'application/json', authorization: undefined, dpop: undefined },
  ...{ pageNonce: undefined, repeated: undefined },
  ...more,
})
const requestOf = (url: string, method = 'POST', headers: object = {}) =>
  ({ url, method, headers }) as IncomingMessage
const asksNonce = { 'access-control-request-headers': 'content-type, selvedge-page-nonce' }

const check = (url: string, headers: Partial<GuardedHeaders>, method?: string, own: object = {}) =>
  gate.check(requestOf(url, method, own), headersOf(headers))?.reason ?? 'admitted'

describe('a call', () => {
  it('of a program is admitted, and of a page that the configuration names', () => {
    expect(check(call, {})).toBe('admitted')
    expect(check(call, { origin: allowed })).toBe('admitted')
  })

  it.each(['/jsonrpc/v1', '/jsonrpc/v1/', '/jsonrpc/v1?a', '/jsonrpc/v1/events', '/ws/edge-service-api/v1'])(
    'to %s of another page of this origin is refused, with whatever header it is known',
    (url) => {
      for (const headers of [{ origin: own }, { referer: `${own}/c/app` }, { fetchSite: 'same-origin' }])
        expect(check(url, headers), JSON.stringify(headers)).toBe('foreign_page')
    },
  )

  it.each(['/jsonrpc/v1/openrpc.json', '/c/app', '/jsonrpc/v10', '/'])(
    'is what a request to %s is not: pages of this origin read it',
    (url) => expect(check(url, { origin: own })).toBe('admitted'),
  )

  it('of the own page has its nonce, and the origin of a sandbox', () => {
    expect(check(call, { origin: 'null', pageNonce: nonce })).toBe('admitted')
    expect(check(call, { origin: 'null', pageNonce: nonce, referer: 'https://x.example' })).toBe('admitted')
    expect(check(call, { origin: 'null', pageNonce: nonce, fetchSite: 'cross-site' })).toBe('admitted')
    for (const pageNonce of ['n2', 'n', 'n11', '', undefined])
      expect(check(call, { origin: 'null', pageNonce }), pageNonce).not.toBe('admitted')
    expect(check(call, { origin: own, pageNonce: nonce })).toBe('foreign_page')
    expect(check('/c/app', { origin: 'null', pageNonce: nonce })).not.toBe('admitted')
  })

  it('of the own page is checked for all the rest as any other', () => {
    const headers = { origin: 'null', pageNonce: nonce }
    expect(check(call, { ...headers, host: 'evil.example' })).not.toBe('admitted')
    expect(check(call, { ...headers, repeated: 'host' })).not.toBe('admitted')
  })

  it('of a page of another origin is refused', () => {
    expect(check(call, { origin: 'https://evil.example' })).not.toBe('admitted')
  })

  it('of any page with a nonce is refused where this listener has no page', () => {
    const without = createPageGate({ port: 8083, hosts: [], allowedOrigins: [] }, undefined)
    const headers = headersOf({ origin: 'null', pageNonce: 'undefined' })
    expect(without.check(requestOf(call), headers)).toBeDefined()
    const preflight = requestOf(call, 'OPTIONS', asksNonce)
    expect(without.check(preflight, headersOf({ origin: 'null' }))).toBeDefined()
  })
})

describe('a preflight', () => {
  function answer(url: string, headers: Partial<GuardedHeaders>, method = 'OPTIONS', sent: object = {}) {
    const set: Record<string, string> = {}
    let status: number | undefined
    const response = {
      setHeader: (name: string, value: string) => void (set[name] = value),
      writeHead(code: number) {
        status = code
        return { end: () => undefined }
      },
    } as unknown as ServerResponse
    const isAnswered = gate.answerPreflight(requestOf(url, method, sent), headersOf(headers), response)
    return { isAnswered, status, set }
  }

  it('of an allowed page is answered for each path', () => {
    expect(answer('/c/app', { origin: allowed })).toEqual({
      isAnswered: true,
      status: 204,
      set: {
        'Access-Control-Allow-Origin': allowed,
        'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
        'Access-Control-Allow-Headers': 'Content-Type, Authorization, DPoP',
        'Access-Control-Expose-Headers': 'DPoP-Nonce',
        'Access-Control-Max-Age': '600',
        Vary: 'Origin',
      },
    })
  })

  it('of the own page is answered for calls alone', () => {
    const own = {
      'Access-Control-Allow-Origin': 'null',
      'Access-Control-Allow-Methods': 'POST',
      'Access-Control-Allow-Headers': 'Content-Type, Selvedge-Page-Nonce',
      Vary: 'Origin',
    }
    expect(check(call, { origin: 'null' }, 'OPTIONS', asksNonce)).toBe('admitted')
    expect(answer(call, { origin: 'null' }, 'OPTIONS', asksNonce)).toEqual({
      ...{ isAnswered: true, status: 204, set: own },
    })
    const asksUpper = { 'access-control-request-headers': 'SELVEDGE-PAGE-NONCE' }
    expect(answer(call, { origin: 'null' }, 'OPTIONS', asksUpper).isAnswered).toBe(true)
    const none = { isAnswered: false, status: undefined, set: {} }
    expect(answer('/c/app', { origin: 'null' }, 'OPTIONS', asksNonce)).toEqual(none)
    expect(answer(call, { origin: 'null' }, 'OPTIONS', {})).toEqual(none)
    expect(answer(call, { origin: own['Access-Control-Allow-Origin'] }, 'GET', asksNonce)).toEqual(none)
  })

  it('is not what a call is, which gets the same headers and is served', () => {
    const { isAnswered, status, set } = answer(call, { origin: allowed }, 'POST')
    expect([isAnswered, status, set['Access-Control-Allow-Origin']]).toEqual([false, undefined, allowed])
    const page = answer(call, { origin: 'null', pageNonce: nonce }, 'POST')
    expect([page.isAnswered, page.set['Access-Control-Allow-Origin']]).toEqual([false, 'null'])
  })

  it.each([{}, { origin: own }, { origin: 'https://evil.example' }, { origin: 'null' }])(
    'of any other page gets nothing: %j',
    (headers) => {
      expect(answer(call, headers)).toEqual({ isAnswered: false, status: undefined, set: {} })
    },
  )
})

it.each([
  ['/jsonrpc/v1', true, true],
  ['/jsonrpc/v1/', true, true],
  ['/jsonrpc/v1?token=x', true, false],
  ['/jsonrpc/v1/?x', true, false],
  ['/jsonrpc/v1/x', false, false],
  ['/jsonrpc/v1x', false, false],
  ['/x/jsonrpc/v1', false, false],
  ['/ws/edge-service-api/v1', false, true],
  ['/ws/edge-service-api/v1/', false, true],
  ['/ws/edge-service-api/v1?x', false, false],
  ['/ws/edge-service-api/v1/x', false, false],
  ['', false, false],
  [undefined, false, false],
])('%j is a path of calls: %s, and of calls over WebSocket: %s', (url, isCall, isSocket) => {
  expect([isCallPath(url), isSocketPath(url)]).toEqual([isCall, isSocket])
})
