import { identityPaths } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { describeError } from '../http-app/oauth-answer.ts'
import { createMemoryLog } from '../testing/index.ts'
import { requestIdOf } from './request-id.ts'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const requestWith = (...rawHeaders: string[]) => ({ rawHeaders })

describe('the ID of a request', () => {
  it('is that of the caller, and the same each time', () => {
    expect(requestIdOf(requestWith('Host', 'x', 'x-REQUEST-id', 'a_B-9'))).toBe('a_B-9')
    const request = requestWith('Host', 'x')
    expect(requestIdOf(request)).toMatch(uuid)
    expect(requestIdOf(request)).toBe(requestIdOf(request))
  })

  it('is new for each request', () => {
    const ids = Array.from({ length: 1000 }, () => requestIdOf(requestWith('Host', 'x')))
    expect(new Set(ids).size).toBe(1000)
    for (const id of ids) expect(id).toMatch(uuid)
  })

  it.each([
    ['', 'is empty'],
    ['x'.repeat(65), 'is too long'],
    ['a b', 'has a space'],
    ['a"}{"level":"error', 'ends a JSON text'],
    ['\u001b[31m', 'has a control sequence'],
    ['eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln', 'is a token'],
    ['a\r\nSet-Cookie: x', 'has a line break'],
    ['ä', 'is not ASCII'],
  ])('is a new one if that of the caller %j', (id) => {
    expect(requestIdOf(requestWith('X-Request-Id', id))).toMatch(uuid)
  })

  it('is a new one if the caller sent two', () => {
    expect(requestIdOf(requestWith('X-Request-Id', 'a', 'X-Request-Id', 'b'))).toMatch(uuid)
  })

  it('is in the log line of a request that failed', () => {
    const log = createMemoryLog()
    const request = requestWith('X-Request-Id', 'find-me')
    describeError(new Error('broken'), identityPaths.token, log, request as never)
    expect(log.lines.join('\n')).toContain('"requestId":"find-me"')
  })
})
