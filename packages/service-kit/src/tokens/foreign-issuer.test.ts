/** When the keys of an issuer that is not ours are fetched, and for how long they serve. */
import { generateKeyPairSync } from 'node:crypto'
import { federatedIdProfile, type TokenError } from '@selvedge/protocol/tokens'
import { expect, it } from 'vitest'
import { seconds } from '../clock/clock.ts'
import { createFakeClock } from '../testing/index.ts'
import { type ForeignKeySet, readForeignKeySet } from './foreign-keys.ts'
import { createRemoteIssuer } from './remote-issuer.ts'
import { signJws } from './sign.ts'
import { createTokenVerifier } from './verifier.ts'

const issuer = 'https://issuer.example'
const minute = 60_000
const profile = federatedIdProfile(['ES256'])

function make() {
  const clock = createFakeClock()
  const pairs = new Map(['a', 'b'].map((kid) => [kid, generateKeyPairSync('ec', { namedCurve: 'P-256' })]))
  let published = ['a']
  let isDown = false
  let fetches = 0
  let keySet: ForeignKeySet | undefined
  const outcomes: unknown[] = []
  const remote = createRemoteIssuer({
    issuer,
    clock,
    async getJson(url) {
      if (isDown) throw new Error('down')
      if (url.endsWith('/configuration')) return { issuer, jwks_uri: 'https://keys.example/' }
      fetches++
      return {
        keys: published.map((kid) => ({ ...pairs.get(kid)!.publicKey.export({ format: 'jwk' }), kid })),
      }
    },
    onOutcome: (cause) => outcomes.push(cause),
    foreign: {
      metadataUrl: `${issuer}/configuration`,
      read: (json) => (keySet = readForeignKeySet(json, keySet)),
      validMs: 60 * minute,
      unknownKid: { atOnce: 1, everyMs: minute },
    },
  })
  const verifier = createTokenVerifier({
    findIssuer: (iss) => (iss === issuer ? remote : undefined),
    clock,
    remembered: 100,
  })
  /** Whether a token of a key is accepted now. */
  async function isAccepted(kid: string): Promise<boolean> {
    const iat = seconds(clock)
    const claims = { iss: issuer, sub: 's', aud: 'a', iat, exp: iat + 600 }
    const token = signJws({ typ: 'JWT', kid }, claims, (pairs.get(kid) ?? pairs.get('a')!).privateKey)
    try {
      await verifier.verify(token, profile, '')
      return true
    } catch (cause) {
      if ((cause as TokenError).reason === 'token_untrusted') return false
      throw cause
    }
  }
  return {
    clock,
    remote,
    verifier,
    outcomes,
    pairs,
    isAccepted,
    fetches: () => fetches,
    publish: (...kids: string[]) => {
      published = kids
    },
    setDown: (value: boolean) => {
      isDown = value
    },
  }
}

it('keys are fetched for the first token, once for all that wait, and not for those after it', async () => {
  const { isAccepted, fetches } = make()
  expect(await Promise.all([isAccepted('a'), isAccepted('a'), isAccepted('a')])).toEqual([true, true, true])
  for (let at = 0; at < 100; at++) expect(await isAccepted('a')).toBe(true)
  expect(fetches()).toBe(1)
})

it('a key that is not known leads to one fetch a minute, however many are made up', async () => {
  const { clock, isAccepted, fetches, publish } = make()
  await isAccepted('a')
  for (let at = 0; at < 50; at++) await isAccepted(`made up ${at}`)
  expect(fetches()).toBe(2)
  publish('a', 'b')
  expect(await isAccepted('b')).toBe(false)
  clock.advance(minute)
  expect(await isAccepted('b')).toBe(true)
  for (let at = 0; at < 50; at++) await isAccepted(`made up ${at}`)
  expect(fetches()).toBe(3)
})

it('a key that vanished is refused after the next fetch, and what it verified with it', async () => {
  const { clock, isAccepted, publish, remote } = make()
  expect(await isAccepted('a')).toBe(true)
  publish('b')
  expect(await isAccepted('a')).toBe(true)
  clock.advance(11 * minute)
  // The keys that are used are fetched again behind this token.
  await isAccepted('a')
  await remote.refresh()
  expect(await isAccepted('a')).toBe(false)
  expect(await isAccepted('b')).toBe(true)
})

it('keys of an issuer that is down serve until their age limit, and no longer', async () => {
  const { clock, isAccepted, setDown, outcomes } = make()
  expect(await isAccepted('a')).toBe(true)
  setDown(true)
  for (let passed = 0; passed < 60; passed += 12) {
    clock.advance(12 * minute - 1)
    expect(await isAccepted('a')).toBe(true)
  }
  clock.advance(minute)
  expect(await isAccepted('a')).toBe(false)
  expect(outcomes.at(-1)).toEqual(new Error('down'))
  setDown(false)
  clock.advance(minute)
  expect(await isAccepted('a')).toBe(true)
})

it('a verified token stays verified over a fetch that brings the same key', async () => {
  const { clock, verifier, remote, pairs } = make()
  const iat = seconds(clock)
  const claims = { iss: issuer, sub: 's', aud: 'a', iat, exp: iat + 600 }
  const token = signJws({ typ: 'JWT', kid: 'a' }, claims, pairs.get('a')!.privateKey)
  const first = await verifier.verify(token, profile, '')
  await remote.refresh()
  expect(verifier.verify(token, profile, '')).toBe(first)
})
