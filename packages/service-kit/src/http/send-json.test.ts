/** Small parts of answers and requests that every endpoint uses. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { expect, it } from 'vitest'
import { textBodyOf } from '../http-app/text-body.ts'
import { allowLargeBody, isLarge } from './large-body.ts'
import { sendJson } from './send-json.ts'

function sent(text: string, more?: Record<string, string>) {
  const seen: unknown[] = []
  const response = {
    req: { headers: {}, rawHeaders: [] },
    writeHead(status: number, headers: object) {
      seen.push(status, headers)
      return response
    },
    end: (...each: unknown[]) => void seen.push(...each),
  }
  sendJson(response as unknown as ServerResponse, 418, text, more)
  return seen
}

it('an answer is stored by no cache, is no other type, and has the ID of its request', () => {
  const [status, headers, text, encoding] = sent('{"a":1}', { 'Retry-After': '1' })
  expect([status, text, encoding]).toEqual([418, '{"a":1}', 'latin1'])
  expect(headers).toEqual({
    'Content-Type': 'application/json',
    'Content-Length': 7,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': expect.stringMatching(/./),
    'Retry-After': '1',
  })
})

it('its length is in bytes', () => {
  const [, headers, , encoding] = sent('"ü"')
  expect([(headers as Record<string, unknown>)['Content-Length'], encoding]).toEqual([4, 'utf8'])
})

it('only a body that was declared large is large', () => {
  const request = {} as IncomingMessage
  expect(isLarge(request)).toBe(false)
  allowLargeBody(request)
  expect(isLarge(request)).toBe(true)
  expect(isLarge({} as IncomingMessage)).toBe(false)
})

it.each([
  ['a', 'a'],
  [undefined, ''],
  [{ a: 1 }, ''],
])('a body of %j is the text %j', (body, expected) => {
  expect(textBodyOf({ body } as FastifyRequest)).toBe(expected)
})
