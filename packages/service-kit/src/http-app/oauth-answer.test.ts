/** What a caller gets to see of a failure, and what only the log has. */
import type { IncomingMessage } from 'node:http'
import { OAuthError } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { StoreError } from '../store/index.ts'
import { createMemoryLog } from '../testing/index.ts'
import { describeError } from './oauth-answer.ts'

const request = { headers: {}, rawHeaders: [] as string[] } as IncomingMessage
function answerTo(cause: unknown) {
  const log = createMemoryLog()
  const answer = describeError(cause, '/token', log, request)
  return { answer, logged: log.lines.map((line) => JSON.parse(line)) }
}

it('a refusal is shown unchanged, with the time of the next attempt if it has one', () => {
  const refusal = new OAuthError('invalid_grant', 'no')
  expect(answerTo(refusal)).toEqual({
    answer: { status: 400, body: { error: 'invalid_grant', error_description: 'no' } },
    logged: [],
  })
  const later = new OAuthError('temporarily_unavailable', 'later', { status: 503, retryAfter: 0 })
  expect(answerTo(later).answer).toMatchObject({ status: 503, headers: { 'Retry-After': '0' } })
})

it.each([400, 413, 499])('a request that is wrong with %i gets the reason', (statusCode) => {
  expect(answerTo(Object.assign(new Error('too large'), { statusCode }))).toEqual({
    answer: { status: statusCode, body: { error: 'invalid_request', error_description: 'too large' } },
    logged: [],
  })
})

it.each([Object.assign(new Error('secret'), { statusCode: 500 }), new Error('secret')])(
  'a failure is in the log alone, under an ID that the caller gets: %o',
  (cause) => {
    const { answer, logged } = answerTo(cause)
    expect(answer.status).toBe(500)
    expect(answer.body.error).toBe('server_error')
    expect(answer.body.error_description).not.toContain('secret')
    expect(logged).toMatchObject([{ level: 'error', path: '/token' }])
    expect(answer.body.error_description).toContain(logged[0].errorId)
    expect(JSON.stringify(logged)).toContain('secret')
    expect(answer.headers).toBeUndefined()
  },
)

it('a full disk is temporary: 503, with the ID of the cause', () => {
  const cause = new StoreError('the database is full', {
    cause: Object.assign(new Error('full'), { code: 'ENOSPC' }),
  })
  const { answer, logged } = answerTo(cause)
  expect(answer).toMatchObject({
    status: 503,
    body: { error: 'temporarily_unavailable' },
    headers: { 'Retry-After': '5' },
  })
  expect(answer.body.error_description).toContain(logged[0].errorId)
})
