/** `X-Request-Id` on answers of the daemons: refusals, errors, pages, streams and data alike. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Stack, startStack } from '../harness/processes.ts'

let stack: Stack
beforeAll(async () => {
  stack = await startStack()
})
afterAll(() => stack.stop())

const json = { 'Content-Type': 'application/json' }
const requests = [
  [
    'runtime',
    '/jsonrpc/v1',
    { method: 'POST', headers: json, body: '{"jsonrpc":"2.0","method":"getMe","id":1}' },
  ],
  ['runtime', '/jsonrpc/v1', { method: 'POST', headers: json, body: '{' }],
  ['runtime', '/jsonrpc/v1', { method: 'GET' }],
  ['runtime', '/jsonrpc/v1', { method: 'POST', headers: json, body: '[{"jsonrpc":"2.0","method":"getMe"}]' }],
  ['runtime', '/mcm/v1/images', { method: 'GET' }],
  ['runtime', '/no-service/x', { method: 'GET' }],
  ['runtime', '/readyz', { method: 'GET' }],
  ['identity', '/token', { method: 'POST', headers: json, body: '{}' }],
  ['identity', '/token', { method: 'POST', body: new URLSearchParams('grant_type=x') }],
  ['identity', '/jwks', { method: 'GET' }],
  ['identity', '/userinfo', { method: 'GET' }],
  ['identity', '/', { method: 'GET' }],
  ['identity', '/stranger', { method: 'GET' }],
  ['identity', '/readyz', { method: 'GET' }],
  ['discovery', '/v1/fixes', { method: 'POST', headers: json, body: '{}' }],
  ['discovery', '/v1/nodes', { method: 'GET' }],
  ['discovery', '/stranger', { method: 'GET' }],
] as const

describe.each(requests)('an answer of the %s daemon at %s', (name, path, init) => {
  it('carries the ID of the caller, or a new one', async () => {
    const idFor = async (sent: Record<string, string>) => {
      const headers = { ...('headers' in init ? init.headers : {}), ...sent }
      const response = await fetch(stack[name].url + path, { ...init, headers, redirect: 'manual' })
      await response.text()
      return response.headers.get('x-request-id')
    }
    expect(await idFor({ 'X-Request-Id': 'caller-1' })).toBe('caller-1')
    expect(await idFor({ 'X-Request-Id': 'a"} forged' })).toMatch(/^[0-9a-f-]{36}$/)
    expect(await idFor({})).toMatch(/^[0-9a-f-]{36}$/)
  })
})
