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
  ['Fri, 07 Nov 2014 24:61:59 GMT', undefined],
  ['Friday', undefined],
  [undefined, undefined],
])('reads Retry-After %j as %j ms', (after, expected) => {
  expect(answered(429, { after }).retryAfterMs).toBe(expected)
})

const sent = 'Fri, 07 Nov 2014 23:00:00 GMT'
const atSent = Date.UTC(2014, 10, 7, 23)

it.each([
  ['Fri, 07 Nov 2014 23:59:59 GMT', 3_599_000],
  ['Friday, 07-Nov-14 23:59:59 GMT', 3_599_000],
  ['Fri Nov  7 23:59:59 2014', 3_599_000],
  ['Fri, 07 Nov 2014 22:00:00 GMT', 0],
  ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ['Sat, 07 Nov 2015 23:00:00 GMT', 365 * 86_400_000],
])('reads %s as %i ms after the Date of its answer, whatever the clock of the device', (after, ms) => {
  for (const now of [0, atSent, Date.UTC(2099, 0)]) {
    const headers = { 'retry-after': after, date: sent }
    const { retryAfterMs } = new UnexpectedStatus(
      { status: 503, origin: registry, headers },
      registry,
      () => now,
    )
    expect(retryAfterMs).toBe(ms)
  }
})

it.each([
  ['of the same day', atSent, 3_599_000],
  ['in the past', atSent + 86_400_000, 0],
  ['far in the future: the clock of the device is wrong', 0, undefined],
])('without a Date, believes a date %s', (_, now, ms) => {
  for (const date of [undefined, 'today']) {
    const headers = { 'retry-after': 'Fri, 07 Nov 2014 23:59:59 GMT', ...(date && { date }) }
    const { retryAfterMs } = new UnexpectedStatus(
      { status: 503, origin: registry, headers },
      registry,
      () => now,
    )
    expect(retryAfterMs).toBe(ms)
  }
})
