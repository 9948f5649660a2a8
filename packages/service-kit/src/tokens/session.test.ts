import { createHmac, diffieHellman, generateKeyPairSync, hkdfSync } from 'node:crypto'
import { publicJwk } from '@selvedge/protocol/tokens'
import { describe, expect, it } from 'vitest'
import { fc } from '../../../../tests/harness/properties.ts'
import { randomOf } from '../../../../tests/harness/seed.ts'
import { createFakeClock } from '../testing/index.ts'
import { importPublicKey } from './es256.ts'
import { openBytes, sealBytes } from './sealed-bytes.ts'
import { createSessionKeeper, offerSession } from './session.ts'

const random = randomOf('session')

const secret = random.bytes(32)
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
    const { session: foreign } = begin(createSessionKeeper(random.bytes(32), clock))
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
        // The last character of base64url has unused bits.
        if (!isSame && at !== signed.length - 1)
          expect(check(changed)).toMatch(/send "Authorization|not signed with/)
      }),
      { numRuns: 1000 },
    )
    const ticket = signed.split('.')[0]!
    const incomplete = [
      undefined,
      '',
      'Session',
      'Session ',
      'Session a.b',
      'Session ...',
      ticket,
      `${ticket}.0.`,
    ]
    for (const broken of [...incomplete, 'Bearer x', `Bearer ${signed.slice(8)}`, signed.slice(8)])
      expect(check(broken)).toBe('send "Authorization: Session …" with a ticket of this service')
    for (const forged of ['Session a.b.c', `${ticket}.0.${'A'.repeat(43)}`])
      expect(check(forged)).toBe('the request is not signed with the key of its session')
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

describe('the times of a session', () => {
  it('end with its lifetime, to the millisecond', () => {
    const { session } = begin(keeper, 300)
    clock.advance(299_999)
    expect(check(session.authorize('POST', '/a?b', 'body'))).toBe('who it is 0')
    clock.advance(1)
    expect(check(session.authorize('POST', '/a?b', 'body'))).toMatch(/has expired/)
  })

  it('let a request be a minute old, to the millisecond', () => {
    const signed = begin().session.authorize('POST', '/a?b', 'body')
    clock.advance(60_000)
    expect(check(signed)).toBe('who it is -60000')
    clock.advance(1)
    expect(check(signed)).toMatch(/of another time/)
  })

  it('are read from the header as they are signed: a text that is not a time is refused', () => {
    const { session, sessionKey, ticket } = begin()
    const key = session.open(sessionKey)!
    const signedAt = (at: string) => {
      const mac = createHmac('sha256', key).update(`POST /a?b ${at}\nbody`).digest('base64url')
      return check(`Session ${ticket}.${at}.${mac}`)
    }
    expect(signedAt('0')).toBe('who it is 0')
    for (const at of ['x', '60001', '-60001']) expect(signedAt(at)).toMatch(/of another time/)
  })
})

describe('a session between two versions of the program', () => {
  const derive = (from: Uint8Array, purpose: string) =>
    Buffer.from(hkdfSync('sha256', from, 'selvedge', purpose, 32))

  it('has the same keys', () => {
    const node = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { ticket, sessionKey } = keeper.begin(
      publicJwk.parse(node.publicKey.export({ format: 'jwk' })),
      Buffer.alloc(0),
      60,
    )
    const agreed = diffieHellman({ privateKey: node.privateKey, publicKey: importPublicKey(keeper.jwk) })
    const key = openBytes(derive(agreed, 'session'), Buffer.from(sessionKey, 'base64url'))
    const ticketsKey = derive(secret, 'session tickets')
    expect(key).toEqual(createHmac('sha256', ticketsKey).update(ticket).digest())
    const mac = createHmac('sha256', key!).update('POST /a?b 0\nbody').digest('base64url')
    // A session may carry nothing.
    expect(check(`Session ${ticket}.0.${mac}`)).toBe(' 0')
  })

  it.each([0, 1, 6, 11])('refuses a signed ticket of %i bytes, which has no room for its times', (length) => {
    const ticket = Buffer.alloc(length).toString('base64url')
    const key = createHmac('sha256', derive(secret, 'session tickets')).update(ticket).digest()
    const mac = createHmac('sha256', key).update('POST /a?b 0\nbody').digest('base64url')
    expect(check(`Session ${ticket}.0.${mac}`)).toBe('the ticket has no times; start a new session')
  })

  it('signs bodies of every length alike', () => {
    const { session, sessionKey, ticket } = begin()
    const key = session.open(sessionKey)!
    for (const length of [0, 1000, 5000, 100_000, 1000]) {
      const body = 'ü'.repeat(length)
      const mac = createHmac('sha256', key).update(`POST /a 0\n${body}`).digest('base64url')
      expect(session.authorize('POST', '/a', body)).toBe(`Session ${ticket}.0.${mac}`)
    }
  })
})

describe('sealed bytes', () => {
  it('may be of no length, and are not opened where they are too short to be sealed', () => {
    const key = random.bytes(32)
    const sealed = sealBytes(key, Buffer.alloc(0))
    expect(sealed).toHaveLength(28)
    expect(openBytes(key, sealed)).toEqual(Buffer.alloc(0))
    for (let length = 0; length < 28; length++)
      expect(openBytes(key, sealed.subarray(0, length))).toBeUndefined()
  })

  it('open with their key and what they belong to, and not otherwise', () => {
    const key = random.bytes(32)
    const sealed = sealBytes(key, Buffer.from('secret'), 'of a')
    expect(openBytes(key, sealed, 'of a')?.toString()).toBe('secret')
    expect(openBytes(key, sealed, 'of b')).toBeUndefined()
    expect(openBytes(random.bytes(32), sealed, 'of a')).toBeUndefined()
    expect(openBytes(key, sealed.subarray(0, 20), 'of a')).toBeUndefined()
    sealed[15]! ^= 1
    expect(openBytes(key, sealed, 'of a')).toBeUndefined()
  })
})
