/** The keys of issuers that projects trust, on every store: what serves after a restart and at another replica while an issuer is down. */
import { federatedIdProfile, TokenError } from '@selvedge/protocol/tokens'
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
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
    afterEach(() => store.close())

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

    it('that could not be stored are stored once the database writes again, without the issuer', async () => {
      const { load, save } = createIssuerKeySets(store)
      let isFull = true
      const full: typeof save = (...of) => (isFull ? Promise.reject(new Error('full')) : save(...of))
      const keys = createIssuerKeys({
        ...{ clock, network: directNetwork, log: createMemoryLog(), getterOf: () => getJson },
        issuerKeySets: { load, save: full },
        retryTimes: { firstMs: 1, maxMs: 4 },
      })
      expect(await ask(keys)).toBe('accepted')
      published = undefined
      isFull = false
      await expect.poll(() => load(named)).toBeDefined()
      expect(await ask(start())).toBe('accepted')
      await keys.stop()
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
