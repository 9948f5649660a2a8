/** A device believes a time only if its own identity service signed it for the very question that the device asked. */
import { generateKeyPairSync } from 'node:crypto'
import { timeAudience } from '@selvedge/protocol/tokens'
import { expect, it } from 'vitest'
import { signJws } from './sign.ts'
import { verifySignedTime } from './signed-time.ts'

const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const url = 'https://identity.example'
const nodeId = 'a'.repeat(56)
const nonce = 'n'.repeat(36)
const time = Date.parse('2026-01-01T00:00:00Z')
const claims = { iss: url, sub: nodeId, aud: timeAudience, iat: 0, exp: 60, jti: 'j', nonce, time }

const check = (more: object = {}, { key = own, typ = 'time+jwt' } = {}) =>
  verifySignedTime(
    signJws({ typ, kid: 'k' }, { ...claims, ...more }, key.privateKey),
    { issuer: url, findKey: (kid) => (kid === 'k' ? own.publicKey : undefined) },
    { nonce, nodeId },
  )

it('is the time of the service, however far from the clock of the device', async () => {
  expect(await check()).toBe(time)
})

it.each([
  ['for another question', { nonce: 'm'.repeat(36) }],
  ['for another node', { sub: 'b'.repeat(56) }],
  ['for something else', { aud: 'urn:selvedge:edge' }],
  ['by another issuer', { iss: 'https://evil.example' }],
  ['that is no time', { time: '2026' }],
  ['without a nonce', { nonce: undefined }],
])('is not one %s', async (_, more) => {
  await expect(check(more)).rejects.toMatchObject({ name: 'TokenError' })
})

it('is not one by another key, or of another type', async () => {
  await expect(check({}, { key: stranger })).rejects.toThrow(/signature/)
  await expect(check({}, { typ: 'edge-id+jwt' })).rejects.toMatchObject({ name: 'TokenError' })
})

it('asks for keys that are not known yet', async () => {
  let known = false
  const text = signJws({ typ: 'time+jwt', kid: 'k' }, claims, own.privateKey)
  const issuer = {
    issuer: url,
    findKey: () => (known ? own.publicKey : undefined),
    refresh: async () => {
      known = true
      return true
    },
  }
  expect(await verifySignedTime(text, issuer, { nonce, nodeId })).toBe(time)
})

it('does not ask for keys that are known', async () => {
  let refreshed = 0
  const text = signJws({ typ: 'time+jwt', kid: 'k' }, claims, own.privateKey)
  const refresh = async () => ++refreshed > 0
  await verifySignedTime(text, { issuer: url, findKey: () => own.publicKey, refresh }, { nonce, nodeId })
  expect(refreshed).toBe(0)
})

it.each([undefined, async () => false])('is refused if its key is not known after that', async (refresh) => {
  const text = signJws({ typ: 'time+jwt', kid: 'k' }, claims, own.privateKey)
  const issuer = { issuer: url, findKey: () => undefined, ...(refresh && { refresh }) }
  await expect(verifySignedTime(text, issuer, { nonce, nodeId })).rejects.toMatchObject({
    name: 'TokenError',
    reason: 'token_untrusted',
  })
})

it.each([
  [{ iss: 'https://evil.example' }, 'token_untrusted'],
  [{ time: 1.5 }, 'token_malformed'],
  [{ aud: 'x' }, 'token_untrusted'],
])('is refused with %j: %s', async (more, reason) => {
  await expect(check(more)).rejects.toMatchObject({ reason })
})
