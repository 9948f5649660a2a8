/** What replicas count together, on every store. */
import { openSql } from '@selvedge/service-kit/sql'
import type { SqlStore } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { createOneTime } from '../../registry/credentials/one-time.ts'
import { createRecoveryCodes } from '../../registry/credentials/recovery-codes.ts'
import { createEnrolmentCodes } from '../../registry/nodes/enrolment-codes.ts'
import { createAccounts } from '../../registry/people/accounts.ts'
import { createLimits } from '../../tokens/grants/limits.ts'
import { migrations } from '../schema.ts'
import { openPresence } from './presence.ts'
import { createSharedLimiter } from './shared-limiter.ts'
import { createUsedProofs } from './used-proofs.ts'

describeOnStores(
  'on %s',
  (makeDatabase, kind) => {
    const clock = createFakeClock()
    let stores: SqlStore[]
    beforeAll(async () => {
      const url = await makeDatabase()
      stores = [await openSql(url, migrations)]
      if (kind === 'postgres') stores.push(await openSql(url, migrations))
    })
    afterAll(async () => {
      for (const store of stores) await store.close()
    })
    /** Ten at the same time, at all replicas. */
    const winners = async (make: (store: SqlStore) => () => Promise<unknown>) => {
      const uses = stores.map(make)
      const done = await Promise.all(Array.from({ length: 10 }, (_, at) => uses[at % uses.length]!()))
      return done.filter((each) => each !== undefined && each !== false).length
    }

    it('a challenge, a recovery code and an enrolment code have one winner of ten', async () => {
      const [store] = stores as [SqlStore]
      for (let round = 0; round < 10; round++) {
        const secret = await createOneTime(store, clock).create('passkey-sign-in', {}, 60)
        expect(await winners((own) => () => createOneTime(own, clock).use('passkey-sign-in', secret))).toBe(1)
        const { accountId } = await createAccounts(store, clock).create(`p${round}@example.com`)
        const [person] = await store.run({
          sql: 'SELECT person_id FROM members WHERE account_id = ?',
          values: [accountId],
        })
        const personId = person!.person_id as string
        const [code] = await createRecoveryCodes(store, clock).create(personId)
        expect(await winners((own) => () => createRecoveryCodes(own, clock).use(personId, code!))).toBe(1)
        const enrolment = await createEnrolmentCodes(store, clock).create()
        let node = 0
        expect(
          await winners((own) => () => createEnrolmentCodes(own, clock).redeem(enrolment.code, `n${node++}`)),
        ).toBe(1)
      }
    })

    it('a rate is counted by all of them, refills, and survives a clock that was wrong', async () => {
      const limiters = stores.map((store) =>
        createSharedLimiter(store, clock, 'test', { burst: 5, perSecond: 1 / 10 }),
      )
      const take = (at: number) => limiters[at % limiters.length]!.take('ada')
      const taken = await Promise.all(Array.from({ length: 10 }, (_, at) => take(at)))
      expect(taken.filter((each) => each === 0)).toHaveLength(5)
      expect(Math.max(...taken)).toBe(10)
      clock.advance(10_000)
      expect([await take(0), await take(1)]).toEqual([0, 10])
      await limiters[0]!.giveBack('ada')
      expect(await take(1)).toBe(0)
      expect(await limiters[0]!.take('eve')).toBe(0)
      clock.advance(365 * 86_400_000)
      expect(await take(0)).toBe(0)
      clock.advance(-365 * 86_400_000)
      expect(await take(0)).toBe(0)
    })

    it.runIf(kind === 'postgres')('a proof is used up for all of them', async () => {
      const end = Math.floor(clock.now() / 1000) + 60
      expect(await winners((store) => () => createUsedProofs(store)('proof', end))).toBe(1)
    })

    it.runIf(kind === 'postgres')('each allows its share of a rate', async () => {
      const log = createMemoryLog()
      const present = [await openPresence(stores[0]!, clock, log), await openPresence(stores[1]!, clock, log)]
      expect(present[1]!.count()).toBe(2)
      const limits = createLimits({
        address: 10,
        client: 10,
        account: 10,
        node: 10,
        replicas: present[1]!.count,
        enrolments: createSharedLimiter(stores[0]!, clock, 'enrolment', { burst: 1, perSecond: 1 }),
        joins: createSharedLimiter(stores[0]!, clock, 'join', { burst: 1, perSecond: 1 }),
      })
      let served = 0
      for (let at = 0; at < 20; at++)
        try {
          limits.takeAddress('203.0.113.1')
          served++
        } catch {
          // Refused.
        }
      expect(served).toBe(5)
      await present[0]!.stop()
      await present[1]!.stop()
      const alone = await openPresence(stores[0]!, clock, log)
      expect(alone.count()).toBe(1)
      await alone.stop()
    })
  },
  migrations,
)
