import { createHmac, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../testing/index.ts'
import { openBytes, sealBytes } from './sealed-bytes.ts'
import { createSessionKeeper, offerSession } from './session.ts'

const secret = randomBytes(32)
const clock = createFakeClock()
const keeper = createSessionKeeper(secret, clock)

/** A session as both sides have it. */
function begin(of = keeper, seconds = 600) {
  const offer = offerSession()
  const begun = of.begin(offer.jwk, Buffer.from('who it is'), seconds)
  const session = offer.complete(
    { ticket: begun.ticket, key: of.jwk, session_key: begun.sessionKey },
    clock.now,
  )
  return { ...begun, session }
}

const check = (
  authorization: string | undefined,
  more: Partial<{ method: string; path: string; body: string }> = {},
) => {
  try {
    const { content, sentAt } = keeper.check({
      authorization,
      method: 'POST',
      path: '/a?b',
      body: 'body',
      ...more,
    })
    return `${content} ${sentAt - clock.now()}`
  } catch (cause) {
    return (cause as Error).message
  }
}

describe('a session', () => {
  it('carries what it was begun with, for the request that is signed and no other', () => {
    const { session } = begin()
    clock.advance(5000)
    const signed = session.authorize('POST', '/a?b', 'body')
    expect(check(signed)).toBe('who it is 0')
    for (const other of [{ method: 'GET' }, { path: '/a' }, { body: 'bodY' }, { body: '' }])
      expect(check(signed, other)).toMatch(/not signed with the key/)
  })

  it('is valid at every replica that has the secret, and nowhere else', () => {
    const { session } = begin(createSessionKeeper(secret, clock))
    expect(check(session.authorize('POST', '/a?b', 'body'))).toBe('who it is 0')
    const { session: foreign } = begin(createSessionKeeper(randomBytes(32), clock))
    expect(check(foreign.authorize('POST', '/a?b', 'body'))).toMatch(/not signed with the key/)
  })

  it('ends, and its requests are of their minute', () => {
    const { session } = begin(keeper, 300)
    const signed = session.authorize('POST', '/a?b', 'body')
    clock.advance(59_000)
    expect(check(signed)).toBe('who it is -59000')
    clock.advance(2000)
    expect(check(signed)).toMatch(/of another time/)
    expect(check(session.authorize('POST', '/a?b', 'body'))).toBe('who it is 0')
    clock.advance(300_000)
    expect(check(session.authorize('POST', '/a?b', 'body'))).toMatch(/has expired/)
  })

  it('no change of ticket, time or signature passes', () => {
    const { session } = begin()
    const signed = session.authorize('POST', '/a?b', 'body')
    fc.assert(
      fc.property(fc.nat(signed.length - 1), fc.constantFrom(...'AQgw_-.1 '), (at, character) => {
        const changed = signed.slice(0, at) + character + signed.slice(at + 1)
        const isSame = changed === signed
        // The last character of base64url carries bits that nobody reads.
        if (!isSame && at !== signed.length - 1)
          expect(check(changed)).toMatch(/send "Authorization|not signed with/)
      }),
      { numRuns: 1000 },
    )
    for (const broken of [undefined, '', 'Session', 'Session ', 'Session ...', 'Session a.b.c', 'Bearer x'])
      expect(check(broken)).toMatch(/send "Authorization|not signed with/)
  })

  it('its key cannot be read from the answer', () => {
    const offer = offerSession()
    const { ticket, sessionKey } = keeper.begin(offer.jwk, Buffer.from('x'), 60)
    const spy = offerSession()
    expect(() => spy.complete({ ticket, key: keeper.jwk, session_key: sessionKey }, clock.now)).toThrow(
      /not sealed for this node/,
    )
  })

  it('signs with standard HMAC-SHA-256', () => {
    const offer = offerSession()
    const begun = keeper.begin(offer.jwk, Buffer.from('x'), 60)
    const session = offer.complete(
      { ticket: begun.ticket, key: keeper.jwk, session_key: begun.sessionKey },
      clock.now,
    )
    const key = session.open(begun.sessionKey)!
    const body = 'größer '.repeat(50)
    const [, at = '', mac = ''] = session.authorize('POST', '/p', body).split('.')
    expect(mac).toBe(createHmac('sha256', key).update(`POST /p ${at}\n${body}`).digest('base64url'))
  })
})

describe('sealed bytes', () => {
  it('open with their key and what they belong to, and not otherwise', () => {
    const key = randomBytes(32)
    const sealed = sealBytes(key, Buffer.from('secret'), 'of a')
    expect(openBytes(key, sealed, 'of a')?.toString()).toBe('secret')
    expect(openBytes(key, sealed, 'of b')).toBeUndefined()
    expect(openBytes(randomBytes(32), sealed, 'of a')).toBeUndefined()
    expect(openBytes(key, sealed.subarray(0, 20), 'of a')).toBeUndefined()
    sealed[15]! ^= 1
    expect(openBytes(key, sealed, 'of a')).toBeUndefined()
  })
})
