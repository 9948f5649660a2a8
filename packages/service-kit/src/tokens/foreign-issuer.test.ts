/** When the keys of an issuer that is not ours are fetched, and for how long they serve. */
import { generateKeyPairSync } from 'node:crypto'
import { federatedIdProfile, type TokenError } from '@selvedge/protocol/tokens'
import { describe, expect, it } from 'vitest'
import { seconds } from '../clock/clock.ts'
import { createFakeClock } from '../testing/index.ts'
import { type ForeignKeySet, readForeignKeySet } from './foreign-keys.ts'
import { createRemoteIssuer, type KeyStore } from './remote-issuer.ts'
import { signJws } from './sign.ts'
import { createTokenVerifier } from './verifier.ts'

const issuer = 'https://issuer.example'
const minute = 60_000
const profile = federatedIdProfile(['ES256'])

/** @param stored key sets that other processes of the service fetched */
function make(stored?: KeyStore) {
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
      ...(stored && { stored }),
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
    keySetOf: (...kids: string[]) => ({
      keys: kids.map((kid) => ({ ...pairs.get(kid)!.publicKey.export({ format: 'jwk' }), kid })),
    }),
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

describe('keys that the processes of a service share', () => {
  /** One store, and a process that cannot reach its issuer. */
  function makeShared() {
    const state = { saved: [] as number[], loads: 0, isBroken: false }
    let found: Awaited<ReturnType<KeyStore['load']>>
    const own = make({
      async load() {
        state.loads++
        if (state.isBroken) throw new Error('the database is gone')
        return found
      },
      async save(fetchedAt) {
        state.saved.push(fetchedAt)
      },
    })
    own.setDown(true)
    const store = (kids: readonly string[], fetchedAt: number) => {
      found = { keySet: own.keySetOf(...kids), fetchedAt }
    }
    return { ...own, state, store }
  }

  it('are saved with the time of each fetch that succeeds', async () => {
    const { clock, state, isAccepted, setDown, remote } = makeShared()
    expect(await isAccepted('a')).toBe(false)
    expect([state.saved, remote.fetchedAt()]).toEqual([[], undefined])
    setDown(false)
    clock.advance(minute)
    expect(await isAccepted('a')).toBe(true)
    expect([state.saved, remote.fetchedAt()]).toEqual([[clock.now()], clock.now()])
    expect(state.loads).toBe(1)
  })

  it('serve a process after a failed fetch, by the time of their own fetch', async () => {
    const { clock, isAccepted, store, remote, outcomes } = makeShared()
    store(['a'], clock.now() - 59 * minute)
    expect(await isAccepted('a')).toBe(true)
    expect(await isAccepted('b')).toBe(false)
    expect(remote.fetchedAt()).toBe(clock.now() - 59 * minute)
    expect(outcomes[0]).toEqual(new Error('down'))
    // Whether the own attempt brought keys.
    expect(await remote.refresh()).toBe(false)
    clock.advance(minute)
    expect(await isAccepted('a')).toBe(true)
    clock.advance(1)
    expect(await isAccepted('a')).toBe(false)
  })

  it.each([
    ['before now', -60 * minute, true],
    ['longer before now', -60 * minute - 1, false],
    ['after now, by the clock of another machine', 60 * minute, true],
    ['longer after now', 60 * minute + 1, false],
  ])('may be fetched an hour %s', async (_, ageMs, isUsed) => {
    const { clock, isAccepted, store } = makeShared()
    store(['a'], clock.now() + ageMs)
    expect(await isAccepted('a')).toBe(isUsed)
  })

  it('replace older ones of this process, and never newer ones', async () => {
    const { clock, isAccepted, store, setDown, remote } = makeShared()
    setDown(false)
    expect(await isAccepted('a')).toBe(true)
    setDown(true)
    for (const earlierMs of [0, 1, minute]) {
      store(['b'], clock.now() - earlierMs)
      await remote.refresh()
    }
    expect(await isAccepted('b')).toBe(false)
    const fetchedAt = remote.fetchedAt()!
    clock.advance(2 * minute)
    store(['b'], fetchedAt + 1)
    expect(await isAccepted('b')).toBe(true)
    expect(await isAccepted('a')).toBe(false)
    expect(remote.fetchedAt()).toBe(fetchedAt + 1)
  })

  it('that are missing or cannot be read change nothing', async () => {
    const { clock, state, isAccepted, store } = makeShared()
    expect(await isAccepted('a')).toBe(false)
    store(['a'], clock.now())
    state.isBroken = true
    clock.advance(minute)
    expect(await isAccepted('a')).toBe(false)
    state.isBroken = false
    clock.advance(minute)
    expect(await isAccepted('a')).toBe(true)
  })
})

it('a key that the issuer does not have is named in the refusal', async () => {
  const { clock, verifier, pairs } = make()
  const iat = seconds(clock)
  const claims = { iss: issuer, sub: 's', aud: 'a', iat, exp: iat + 600 }
  const token = signJws({ typ: 'JWT', kid: 'é' }, claims, pairs.get('a')!.privateKey)
  await expect(verifier.verify(token, profile, '')).rejects.toThrow(
    'the key "\\u00e9" of the ID token is not one of its issuer',
  )
})
