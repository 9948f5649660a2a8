/** The statement that a node makes of itself: each member has a limit, since it travels in a header. */
import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { maxStatedServices, nodeStatement } from './dpop.ts'

const hmac_key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
const statement = { name: 'n', hmac_key }
const service = { id: 'i', name: 'n', image: 'g', state: 's' }
const services = (count: number, more: object = {}) => ({
  services: Array.from({ length: count }, () => ({ ...service, ...more })),
})
const isAccepted = (more: object) => nodeStatement.safeParse({ ...statement, ...more }).success
const text = (length: number) => 'x'.repeat(length)

describe('the statement of a node', () => {
  it('needs a name and a key, and nothing else', () => {
    expect(nodeStatement.parse(statement)).toMatchObject({ name: 'n' })
    expect(isAccepted({ name: undefined })).toBe(false)
    expect(isAccepted({ hmac_key: undefined })).toBe(false)
    expect(isAccepted({ other: 1 })).toBe(false)
  })

  it.each<[what: string, accepted: readonly object[], refused: readonly object[]]>([
    ['a name of 1 to 255 characters', [{ name: text(255) }], [{ name: '' }, { name: text(256) }]],
    ['a version of 64 characters', [{ version: text(64) }], [{ version: text(65) }, { version: 1 }]],
    [
      'a nonce of 16 to 64 characters',
      [{ time_nonce: text(16) }, { time_nonce: text(64) }],
      [{ time_nonce: text(15) }, { time_nonce: text(65) }],
    ],
    [
      'an audience and a code',
      [{ audience: 'a', enrolment_code: 'c' }],
      [{ audience: 1 }, { enrolment_code: 1 }],
    ],
    [
      'an account with or without its token',
      [{ account: { id: '' } }, { account: { id: 'a', access_token: 't' } }],
      [{ account: {} }, { account: { id: 'a', more: 1 } }, { account: { id: 'a', access_token: 1 } }],
    ],
    ['30 services', [services(0), services(maxStatedServices)], [services(31)]],
    [
      'services without other members',
      [services(1)],
      [services(1, { more: 1 }), services(1, { id: undefined })],
    ],
    ['a service ID of 128 characters', [services(1, { id: text(128) })], [services(1, { id: text(129) })]],
    ['a service name of 64 characters', [services(1, { name: text(64) })], [services(1, { name: text(65) })]],
    ['an image of 255 characters', [services(1, { image: text(255) })], [services(1, { image: text(256) })]],
    ['a state of 16 characters', [services(1, { state: text(16) })], [services(1, { state: text(17) })]],
  ])('may have %s', (_, accepted, refused) => {
    for (const more of accepted) expect(isAccepted(more)).toBe(true)
    for (const more of refused) expect(isAccepted(more)).toBe(false)
  })
})
