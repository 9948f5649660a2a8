import { expect, it } from 'vitest'
import { UnexpectedStatus } from './status.ts'

const registry = 'https://registry.example'
const answered = (
  status: number,
  { origin = registry, after }: { origin?: string; after?: string | undefined } = {},
) =>
  new UnexpectedStatus(
    { status, origin, headers: after === undefined ? {} : { 'retry-after': after } },
    registry,
  )

it.each([408, 425, 429, 500, 502, 503, 504])('%i of a registry may be followed by a success', (status) => {
  expect(answered(status)).toMatchObject({ status, isPassing: true, message: `it answered ${status}` })
})

it.each([204, 206, 301, 400, 401, 403, 404, 410, 416, 501, 505])('%i of a registry stays', (status) => {
  expect(answered(status).isPassing).toBe(false)
})

it('a storage host refuses a signed URL that has expired with 400 or 403, and nothing else', () => {
  const statuses = [400, 401, 402, 403, 404, 410]
  const passing = statuses.filter(
    (status) => answered(status, { origin: 'https://storage.example' }).isPassing,
  )
  expect(passing).toEqual([400, 403])
})

it.each([
  ['0', 0],
  ['120', 120_000],
  ['999999999', 999_999_999_000],
  ['1234567890', undefined],
  ['120 s', undefined],
  ['in 120', undefined],
  ['-1', undefined],
  ['Fri, 07 Nov 2014 23:59:59 GMT', undefined],
  [undefined, undefined],
])('reads Retry-After %j as %j ms', (after, expected) => {
  expect(answered(429, { after }).retryAfterMs).toBe(expected)
})
