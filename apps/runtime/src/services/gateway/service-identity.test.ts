/** Tokens by which services of one device know each other. */
import { TokenError } from '@selvedge/protocol/tokens'
import { seconds } from '@selvedge/service-kit/clock'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { beforeEach, expect, it } from 'vitest'
import { createServiceIdentity, type ServiceIdentity } from './service-identity.ts'

const clock = createFakeClock()
const start = clock.now()
const nodeId = 'ab'.repeat(28)
const subject = { sub: 'c-caller', client_id: 'c', account_id: 'a' }
let identity: ServiceIdentity
beforeEach(() => {
  clock.set(start)
  identity = createServiceIdentity(nodeId, clock)
})
const outcome = async (token: string, audience = 'c-called', of = identity) => {
  try {
    await of.verify(token, audience)
    return 'accepted'
  } catch (cause) {
    if (!(cause instanceof TokenError)) throw cause
    return cause.reason
  }
}

it('a token is for one service, for five minutes, and names the caller', async () => {
  const { token, expiresAt } = identity.issue(subject, 'c-called')
  expect(expiresAt).toBe('2026-01-01T00:05:00.000Z')
  const claims = await identity.verify(token, 'c-called')
  expect(claims).toMatchObject({
    ...{ ...subject, iss: `urn:selvedge:node:${nodeId}`, aud: 'c-called', iat: seconds(clock) },
    ...{ exp: seconds(clock) + 300, jti: expect.stringMatching(/^[\da-f-]{36}$/) },
  })
  expect(await outcome(token, 'c-other')).toBe('token_untrusted')
  expect(identity.issue(subject, 'c-called').token).not.toBe(token)
})

it('a token expires, also during a call', async () => {
  const { token } = identity.issue(subject, 'c-called')
  const claims = await identity.verify(token, 'c-called')
  clock.advance(359_000)
  expect(await outcome(token)).toBe('accepted')
  expect(() => identity.expectUnexpired(claims)).not.toThrow()
  clock.advance(1000)
  expect(await outcome(token)).toBe('token_expired')
  expect(() => identity.expectUnexpired(claims)).toThrow(
    expect.objectContaining({
      reason: 'token_expired',
      message: 'the token of the calling service expired at 2026-01-01T00:05:00.000Z',
    }),
  )
})

it('a token is of this process alone', async () => {
  const other = createServiceIdentity(nodeId, clock)
  const { token } = other.issue(subject, 'c-called')
  expect(await outcome(token)).toBe('token_untrusted')
  expect(identity.isOwn(token)).toBe(false)
  expect(other.isOwn(token)).toBe(true)
  const own = identity.issue(subject, 'c-called').token
  expect(identity.isOwn(own)).toBe(true)
  expect(identity.isOwn(own.split('.')[0]!)).toBe(false)
  expect(identity.isOwn(`x${own}`)).toBe(false)
  // The key of the one, the header of the other.
  const [head] = own.split('.')
  expect(await outcome([head, ...token.split('.').slice(1)].join('.'))).toBe('token_untrusted')
})

it('before the first token, no token is an own one', () => {
  expect(identity.isOwn('a.b.c')).toBe(false)
  expect(identity.isOwn('undefined.b.c')).toBe(false)
})
