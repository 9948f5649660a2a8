/** The keys of issuers that projects trust, on every store: what serves after a restart and at another replica while an issuer is down. */
import { federatedIdProfile, TokenError } from '@selvedge/protocol/tokens'
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { directNetwork } from '../../../../../tests/harness/direct-network.ts'
import { jwkOf, issuerKeys as keys, signToken } from '../../../../../tests/harness/oidc-issuer.ts'
import { removeExpiredRows } from '../../registry/expired-rows.ts'
import { createIssuerKeySets } from '../../registry/projects/issuer-key-sets.ts'
import { migrations } from '../../storage/schema.ts'
import { createIssuerKeys } from './issuer-keys.ts'

const issuer = 'https://issuer.example'
const named = { issuer, allowsPrivate: false }
const profile = federatedIdProfile(['ES256', 'EdDSA'])
const [minute, hour] = [60_000, 3_600_000]
const noKeys = { count: 0, fetchedAt: null, validUntil: null, problem: null }

describeOnStores(
  '%s',
  (makeDatabase) => {
    const clock = createFakeClock()
    let store: SqlStore
    /** What the issuer publishes; undefined: it does not answer. */
    let published: { keys: readonly object[] } | undefined
    let fetches: number
    beforeEach(async () => {
      store = await openSql(await makeDatabase(), migrations)
      published = { keys: [jwkOf('ES256')] }
      fetches = 0
      saving = []
    })
    afterEach(async () => {
      await Promise.allSettled(saving)
      await store.close()
    })

    const getJson = async (url: string) => {
      fetches++
      if (!published) throw new Error('the issuer does not answer')
      return url.endsWith('/keys') ? published : { issuer, jwks_uri: `${issuer}/keys` }
    }
    /** What processes fetched is stored in the background. */
    let saving: Promise<void>[] = []
    /** A process, with nothing in memory. */
    const start = () => {
      const { load, save } = createIssuerKeySets(store)
      const noted: typeof save = (...of) => {
        saving.push(save(...of))
        return saving.at(-1)!
      }
      const issuerKeySets = { load, save: noted }
      return createIssuerKeys({
        clock,
        network: directNetwork,
        log: createMemoryLog(),
        issuerKeySets,
        getterOf: () => getJson,
      })
    }
    type Process = ReturnType<typeof start>

    async function ask(process: Process, algorithm: 'ES256' | 'EdDSA' = 'ES256', of: typeof named = named) {
      const iat = Math.floor(clock.now() / 1000)
      const token = signToken({ iss: issuer, sub: 's', aud: 'a', iat, exp: iat + 300 }, { algorithm })
      try {
        await process.verifierOf(of).verify(token, profile, '')
        return 'accepted'
      } catch (cause) {
        if (cause instanceof TokenError) return cause.reason
        throw cause
      }
    }
    const rows = () => store.run(sql`SELECT * FROM issuer_key_sets`)
    const fetchOnce = async (process = start()) => {
      expect(await ask(process)).toBe('accepted')
      await Promise.all(saving)
      expect(await rows()).toHaveLength(1)
    }
    const poison = (keySet: string, fetchedAt = clock.now()) =>
      store.run(sql`INSERT INTO issuer_key_sets VALUES (${`public ${issuer}`}, ${keySet}, CAST(${fetchedAt} AS BIGINT))
      ON CONFLICT (issuer_key) DO UPDATE SET key_set = excluded.key_set, fetched_at = excluded.fetched_at`)

    it('of each issuer that could not be stored are stored later, without the issuer', async () => {
      const { load, save } = createIssuerKeySets(store)
      let isFull = true
      const full: typeof save = (...of) => (isFull ? Promise.reject(new Error('full')) : save(...of))
      const keys = createIssuerKeys({
        ...{ clock, network: directNetwork, log: createMemoryLog(), getterOf: () => getJson },
        issuerKeySets: { load, save: full },
      })
      const asPrivate = { ...named, allowsPrivate: true }
      expect([await ask(keys), await ask(keys, 'ES256', asPrivate)]).toEqual(['accepted', 'accepted'])
      isFull = false
      published = undefined
      await keys.stop()
      expect(await ask(start())).toBe('accepted')
      expect(await ask(start(), 'ES256', asPrivate)).toBe('accepted')
    })

    it('are fetched once a minute for a key that any caller may have made up', async () => {
      const process = start()
      await fetchOnce(process)
      for (let at = 0; at < 3; at++) expect(await ask(process, 'EdDSA')).not.toBe('accepted')
      expect(fetches).toBe(4)
      clock.advance(minute)
      expect(await ask(process, 'EdDSA')).not.toBe('accepted')
      expect(fetches).toBe(6)
    })

    it('serve a new process while the issuer is down, until they are 24 hours old', async () => {
      await fetchOnce()
      published = undefined
      const fetchedAt = clock.now()
      clock.advance(23 * hour)
      expect(await ask(start())).toBe('accepted')
      clock.set(fetchedAt + 24 * hour)
      const late = start()
      expect(await ask(late)).toBe('accepted')
      clock.advance(1)
      expect(await ask(late)).not.toBe('accepted')
      expect(await ask(start())).not.toBe('accepted')
    })

    it('are fetched again by a new process while the issuer answers, so a key that is not published any more ends', async () => {
      await fetchOnce()
      published = { keys: [jwkOf('EdDSA')] }
      const next = start()
      expect(await ask(next)).not.toBe('accepted')
      expect(await ask(next, 'EdDSA')).toBe('accepted')
    })

    it('of a rotation that one replica fetched are used by the other one', async () => {
      const [one, other] = [start(), start()]
      await fetchOnce(one)
      await fetchOnce(other)
      clock.advance(2 * minute)
      published = { keys: [jwkOf('ES256'), jwkOf('EdDSA')] }
      expect(await ask(one, 'EdDSA')).toBe('accepted')
      await Promise.all(saving)
      published = undefined
      clock.advance(minute)
      expect(await ask(other, 'EdDSA')).toBe('accepted')
    })

    it('are not replaced by older ones, whichever process writes last', async () => {
      const sets = createIssuerKeySets(store)
      await sets.save(named, { keySet: { keys: [1] }, fetchedAt: 2000 })
      await sets.save(named, { keySet: { keys: [2] }, fetchedAt: 1000 })
      expect(await sets.load(named)).toEqual({ keySet: { keys: [1] }, fetchedAt: 2000 })
    })

    it.each([
      ['no JSON', 'x'],
      ['no key set', '{"keys":"x"}'],
      ['too many keys', JSON.stringify({ keys: Array.from({ length: 101 }, () => jwkOf('ES256')) })],
      [
        'a key that is out of bounds',
        JSON.stringify({ keys: [{ ...jwkOf('RS256'), kid: 'ES256', e: 'Aw' }] }),
      ],
      ['more than 72,000 characters', JSON.stringify({ keys: [jwkOf('ES256')], more: 'x'.repeat(72_000) })],
    ])('are ignored if what is stored is %s', async (_, keySet) => {
      await poison(keySet)
      published = undefined
      const process = start()
      expect(await ask(process)).not.toBe('accepted')
      expect((await process.show(named)).count).toBe(0)
      published = { keys: [jwkOf('ES256')] }
      clock.advance(minute)
      expect(await ask(process)).toBe('accepted')
    })

    it('are ignored if a clock that was days ahead stored them, until the issuer answers', async () => {
      await poison(JSON.stringify({ keys: [jwkOf('ES256')] }), clock.now() + 48 * hour)
      published = undefined
      expect(await ask(start())).not.toBe('accepted')
      published = { keys: [jwkOf('ES256')] }
      expect(await ask(start())).toBe('accepted')
      await Promise.all(saving)
      expect((await rows())[0]?.fetched_at).toBe(clock.now())
    })

    it.each([
      ['older ones', -hour],
      ['ones that a clock that was days ahead stored', 48 * hour],
    ])('in memory are not replaced by %s when a fetch fails', async (_, differenceMs) => {
      const process = start()
      await fetchOnce(process)
      await poison(JSON.stringify({ keys: [jwkOf('EdDSA')] }), clock.now() + differenceMs)
      published = undefined
      clock.advance(minute)
      // The unknown key leads to a fetch.
      expect(await ask(process, 'EdDSA')).not.toBe('accepted')
      expect(await ask(process)).toBe('accepted')
    })

    it('from a private network are not for a rule that does not allow one', async () => {
      const process = start()
      expect(await ask(process, 'ES256', { ...named, allowsPrivate: true })).toBe('accepted')
      await Promise.all(saving)
      expect(await rows()).toHaveLength(1)
      published = undefined
      expect(await ask(start())).not.toBe('accepted')
      expect(await ask(start(), 'ES256', { ...named, allowsPrivate: true })).toBe('accepted')
    })

    it('are stored without what is not needed, such as a private key that an issuer published', async () => {
      const jwk = keys.ES256.privateKey.export({ format: 'jwk' })
      published = {
        keys: [
          { ...jwk, kid: 'ES256', x5c: ['x'] },
          { kty: 'oct', k: 'c2VjcmV0', kid: 's' },
        ],
      }
      await fetchOnce()
      const { d: _, ...members } = jwk
      expect(JSON.parse((await rows())[0]!.key_set as string)).toEqual({
        keys: [{ ...members, kid: 'ES256', alg: 'ES256' }],
      })
    })

    it('that are too long are not stored, and serve in memory', async () => {
      published = { keys: [{ ...jwkOf('ES256') }, { ...jwkOf('EdDSA'), kid: 'k'.repeat(72_000) }] }
      expect(await ask(start())).toBe('accepted')
      published = undefined
      expect(await ask(start())).not.toBe('accepted')
      await createIssuerKeySets(store).save(named, {
        keySet: { keys: ['k'.repeat(72_000)] },
        fetchedAt: clock.now(),
      })
      expect(await rows()).toEqual([])
    })

    it('are shown by a process that did not use them yet, without a fetch', async () => {
      await fetchOnce()
      const before = fetches
      const fetchedAt = new Date(clock.now()).toISOString()
      const validUntil = new Date(clock.now() + 24 * hour).toISOString()
      expect(await start().show(named)).toEqual({ count: 1, fetchedAt, validUntil, problem: null })
      clock.advance(24 * hour + 1)
      expect(await start().show(named)).toMatchObject({ count: 0, fetchedAt, validUntil })
      expect(fetches).toBe(before)
    })

    it('that a process has are shown by it, whatever another one stored', async () => {
      const process = start()
      expect(process.describe(named)).toEqual(noKeys)
      await fetchOnce(process)
      await poison(JSON.stringify({ keys: [jwkOf('ES256'), jwkOf('EdDSA')] }))
      const fetchedAt = new Date(clock.now()).toISOString()
      expect(await process.show(named)).toMatchObject({ count: 1, fetchedAt, problem: null })
      clock.advance(24 * hour)
      expect(process.describe(named)).toMatchObject({ count: 1, fetchedAt })
      clock.advance(1)
      expect(process.describe(named)).toMatchObject({ count: 0, fetchedAt })
    })

    it('are removed when they are too old to be used', async () => {
      await fetchOnce()
      const sweep = async () => {
        for (const task of removeExpiredRows(store)) await task.run(clock.now())
        return (await rows()).length
      }
      clock.advance(24 * hour - 1)
      expect(await sweep()).toBe(1)
      clock.advance(1)
      expect(await sweep()).toBe(0)
    })
  },
  migrations,
)

describe('a fetch', () => {
  const log = createMemoryLog()
  /** A process without a database. @param get answers a request, whether or not the rule allows a private network */
  const processWith = (get?: (allowsPrivate: boolean) => (url: string) => Promise<unknown>) =>
    createIssuerKeys({
      ...{ clock: createFakeClock(), network: directNetwork, log },
      issuerKeySets: { load: async () => undefined, save: async () => undefined },
      ...(get && { getterOf: get }),
    })
  /** Verifies a token of an issuer, and resolves with what is shown of its keys. */
  async function fetchOf(process: ReturnType<typeof processWith>, of: typeof named = named) {
    const token = signToken({ iss: of.issuer, sub: 's', aud: 'a', iat: 1, exp: 2 }, { algorithm: 'ES256' })
    await Promise.resolve(process.verifierOf(of).verify(token, profile, '')).catch(() => undefined)
    return process.describe(of)
  }

  it('that fails shows why, in 300 characters, until one succeeds', async () => {
    const failures: unknown[] = [new Error('x'.repeat(400)), 'no error']
    const process = processWith(() => async (url) => {
      if (failures.length > 0) throw failures.shift()
      return url.endsWith('/keys') ? { keys: [jwkOf('ES256')] } : { issuer, jwks_uri: `${issuer}/keys` }
    })
    expect(await fetchOf(process)).toEqual({ ...noKeys, problem: 'x'.repeat(300) })
    expect(log.lines.join()).toContain('the keys of an issuer are not accepted')
    expect(await fetchOf(process)).toEqual({ ...noKeys, problem: 'no error' })
    expect(await fetchOf(process)).toMatchObject({ count: 1, problem: null })
  })

  it('reaches a private network only for a rule that allows it', async () => {
    const asked: boolean[] = []
    const process = processWith((allowsPrivate) => async () => void asked.push(allowsPrivate))
    await fetchOf(process)
    await fetchOf(process, { ...named, allowsPrivate: true })
    expect(asked).toEqual([false, true])
    const local = { issuer: 'https://127.0.0.1:1', allowsPrivate: false }
    expect((await fetchOf(processWith(), local)).problem).toMatch(/an address that is not connected to/)
  })

  it('is refused while 256 others are under way', async () => {
    const answers: (() => void)[] = []
    const process = processWith(() => () => new Promise((resolve) => answers.push(() => resolve({}))))
    const of = (at: number) => ({ issuer: `https://issuer-${at}.example`, allowsPrivate: false })
    const others = Array.from({ length: 256 }, (_, at) => fetchOf(process, of(at)))
    const refused = 'too many issuers are asked for their keys at the same time'
    expect((await fetchOf(process, of(256))).problem).toBe(refused)
    for (const each of answers.splice(0)) each()
    for (const { problem } of await Promise.all(others)) expect(problem).not.toBe(refused)
    const late = fetchOf(process, of(257))
    answers[0]!()
    expect((await late).problem).not.toBe(refused)
  })
})
