/** What a refusal of the gateway is over HTTP: its status, what it states of tokens, and nothing of a cause. */
import type { IncomingMessage } from 'node:http'
import { type Reason, RpcError } from '@selvedge/protocol'
import { StoreError } from '@selvedge/service-kit/store'
import { describe, expect, it } from 'vitest'
import { refusalOf, sendError, sendRefusal } from './refusal.ts'

describe('the refusal of an error', () => {
  const of = (reason: Reason) => refusalOf(new RpcError(reason, 'why', { hint: 'what to do' }))

  it.each<[reason: Reason, status: number, headers: object]>([
    ['invalid_params', 400, {}],
    ['token_missing', 401, { 'WWW-Authenticate': 'Bearer' }],
    [
      'token_expired',
      401,
      { 'WWW-Authenticate': 'Bearer error="invalid_token", error_description="token_expired"' },
    ],
    ['use_dpop_nonce', 401, { 'WWW-Authenticate': 'DPoP error="use_dpop_nonce"' }],
    ['invalid_dpop_proof', 401, { 'WWW-Authenticate': 'DPoP error="invalid_dpop_proof"' }],
    ['insufficient_scope', 403, { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' }],
    ['not_found', 404, {}],
    ['already_exists', 409, {}],
    ['storage_full', 507, {}],
    ['busy', 503, { 'Retry-After': '1' }],
    ['internal_error', 500, {}],
  ])('%s is %d with what a client needs', (reason, status, headers) => {
    expect(of(reason)).toEqual({ status, reason, message: 'why', hint: 'what to do', headers })
  })
})

/** As much of a response as a refusal uses. */
function createResponse(headersSent = false) {
  const request = { headers: {}, rawHeaders: [] } as unknown as IncomingMessage
  const sent = { status: 0, headers: {} as Record<string, unknown>, body: '', isDestroyed: false }
  return {
    sent,
    req: request,
    headersSent,
    setHeader: (name: string, value: string) => void (sent.headers[name] = value),
    writeHead(status: number, headers: object) {
      sent.status = status
      Object.assign(sent.headers, headers)
      return this
    },
    end: (text: string) => void (sent.body = text),
    destroy: () => void (sent.isDestroyed = true),
  }
}
const answer = (cause: unknown, headersSent = false) => {
  const response = createResponse(headersSent)
  const logged: unknown[] = []
  sendError(response as never, cause, (internal, request) => {
    expect(request).toBe(response.req)
    logged.push(internal)
    return 'error-7'
  })
  return { ...response.sent, body: response.sent.body && JSON.parse(response.sent.body), logged }
}

it('a refusal is sent as JSON, with its headers, and with a hint if it has one', () => {
  const response = createResponse()
  sendRefusal(response as never, { status: 418, reason: 'r', message: 'm', headers: { 'X-A': 'b' } })
  expect(JSON.parse(response.sent.body)).toEqual({ error: { code: 418, message: 'm', reason: 'r' } })
  expect(response.sent).toMatchObject({
    status: 418,
    headers: { 'X-A': 'b', 'Content-Type': 'application/json' },
  })
  const other = createResponse()
  sendRefusal(other as never, { status: 400, reason: 'r', message: 'm', hint: 'h' })
  expect(JSON.parse(other.sent.body).error.hint).toBe('h')
})

it('an error of the catalogue is answered without a line in the log', () => {
  expect(answer(new RpcError('not_found', 'there is nothing'))).toMatchObject({
    status: 404,
    body: { error: { code: 404, message: 'there is nothing', reason: 'not_found' } },
    logged: [],
  })
})

it('another error shows where its cause is in the log, and no more', () => {
  const cause = new Error('a secret path')
  const { status, body, logged } = answer(cause)
  expect([status, logged]).toEqual([500, [cause]])
  expect(body).toEqual({
    error: {
      code: 500,
      reason: 'internal_error',
      message: 'the runtime failed; its log has the cause under error-7',
    },
  })
})

it('a full disk is explained, and is in the log', () => {
  const cause = new StoreError('x', { cause: { code: 'ENOSPC' } })
  const { status, body, logged } = answer(cause)
  expect([status, body.error.reason, logged]).toEqual([507, 'storage_full', [cause]])
})

it('an answer that has begun is cut off, and not changed', () => {
  expect(answer(new Error('late'), true)).toMatchObject({ isDestroyed: true, status: 0, logged: [] })
})
