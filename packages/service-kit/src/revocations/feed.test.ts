/** The list of one trusted issuer is never used for another one. */
import { generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import { createFakeClock } from '../testing/index.ts'
import { createTokenVerifier, revocationEntry, signJws } from '../tokens/index.ts'
import { createRevocationFeed } from './feed.ts'

it('refuses a list that another trusted issuer signed', async () => {
  const clock = createFakeClock()
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const [victim, other] = ['https://victim.example', 'https://other.example']
  const iat = Math.floor(clock.now() / 1000)
  const claims = {
    iss: other,
    sub: other,
    aud: 'urn:selvedge:revocations',
    iat,
    exp: iat + 60,
    jti: 'l',
    seq: 1,
  }
  const content = { revoked: [revocationEntry('id', 't')], not_before: {} }
  const token = signJws({ typ: 'revocations+jwt', kid: 'k' }, { ...claims, ...content }, privateKey)
  const troubles: string[] = []
  const feed = createRevocationFeed({
    sources: () => [{ issuer: victim, fetchList: async () => ({ token, etag: '"1"' }) }],
    storage: { value: { lists: {} }, update: async () => undefined },
    verifier: createTokenVerifier({
      issuers: () => [victim, other].map((issuer) => ({ issuer, findKey: () => publicKey })),
      clock,
      remembered: 0,
    }),
    clock,
    isTimeTrusted: () => true,
    intervalSeconds: 60,
    firstFetchMs: 0,
    onTrouble: (trouble, issuer, isSo) => void (isSo && troubles.push(`${trouble} ${issuer}`)),
    onAccepted: () => undefined,
  })
  expect(await feed.fetchNow()).toBe(false)
  expect(troubles).toEqual([`refused ${victim}`])
  expect(feed.reasonFor({ iss: victim, jti: 't', iat })).toBeUndefined()
  expect(feed.confirmedAt(victim)).toBe(Number.NEGATIVE_INFINITY)
})
