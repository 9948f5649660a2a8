/** Refresh tokens on every store: whatever the store's speed, one token leads to one successor. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openSql } from '@selvedge/service-kit/sql'
import type { SqlStore } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { noFolding } from '../../../../../tests/harness/grants.ts'
import { randomOf } from '../../../../../tests/harness/seed.ts'
import { openChanges } from '../../storage/changes/changes.ts'
import { migrations } from '../../storage/schema.ts'
import { removeExpiredRows } from '../expired-rows.ts'
import { openRevocations } from '../revocation/revocations.ts'
import { createSignIns, newSid, type SignIns } from './sign-ins.ts'

const random = randomOf('sign-ins-suite')
/** Races in all, each of ten requests that show the same token at once: so many of them at a time. */
const races = Number(process.env.SELVEDGE_RACES ?? 200)
const atOnce = 10
const lanes = 50
/** Turns of the event loop that a statement waits for, at most. */
const latencies = [0, 3, 30, 100]

/** A store behind a slow network: each statement waits, some longer than others, before and after. */
function slow(store: SqlStore, latency: { turns: number }): SqlStore {
  const wait = async () => {
    for (let left = random.below(latency.turns + 1); left > 0; left--) await nextTurn()
  }
  return {
    ...store,
    async run(statement) {
      await wait()
      const rows = await store.run(statement)
      await wait()
      return rows as never
    },
  }
}

describeOnStores(
  '%s',
  (makeDatabase, name) => {
    const latency = { turns: 0 }
    const clock = createFakeClock()
    let store: SqlStore
    let signIns: SignIns
    beforeAll(async () => {
      store = await openSql(await makeDatabase(), migrations)
      const changes = await openChanges({
        store,
        clock,
        system: clock,
        log: createMemoryLog(),
        maxAgeMs: 5000,
      })
      const revocations = await openRevocations(store, clock, changes, 3600, noFolding)
      signIns = createSignIns({
        store: slow(store, latency),
        clock,
        secret: Buffer.alloc(32, 3),
        revocations,
        lifetimeSeconds: 86_400,
        graceSeconds: 10,
      })
    })
    afterAll(() => store?.close())

    const begin = () =>
      signIns.begin({
        sid: newSid(),
        clientId: 'c',
        accountId: 'a',
        personId: '',
        email: 'a@example.com',
        nodeId: '',
        origin: '',
        scope: 'openid',
        audience: 'x',
        jkt: '',
        authTime: 0,
        epoch: 0,
        described: '',
      })

    it(`${races} races of ${atOnce} requests each have one successor, and end no sign-in`, async () => {
      const counts = { races: 0, doubles: 0, lost: 0 }
      async function race(): Promise<void> {
        const token = await begin()
        const rotations = await Promise.all(Array.from({ length: atOnce }, () => signIns.rotate(token)))
        const successors = new Set(
          rotations.map((each) => (each.outcome === 'ok' ? each.refreshToken : each.outcome)),
        )
        counts.races++
        if (successors.size > 1) counts.doubles++
        const [first] = rotations
        const next = first?.outcome === 'ok' ? await signIns.rotate(first.refreshToken) : first
        if (next?.outcome !== 'ok') counts.lost++
      }
      for (const turns of latencies) {
        latency.turns = turns
        const racing = Array.from({ length: lanes }, async () => {
          for (let left = races / latencies.length / lanes; left > 0; left--) await race()
        })
        await Promise.all(racing)
      }
      latency.turns = 0
      console.info(
        `${name}: ${counts.races} races of ${atOnce} parallel refreshes, ${latencies.join('/')} turns of latency: ` +
          `${counts.doubles} double successes, ${counts.lost} lost sessions`,
      )
      expect(counts).toEqual({ races, doubles: 0, lost: 0 })
    })

    it('the same token within the grace leads to the same successor, later it ends the sign-in', async () => {
      const first = await begin()
      const second = await successorOf(first)
      const third = await successorOf(second)
      clock.advance(9000)
      expect(await successorOf(first)).toBe(second)
      expect(await successorOf(second)).toBe(third)
      clock.advance(2000)
      expect((await signIns.rotate(second)).outcome).toBe('reused')
      expect((await signIns.rotate(third)).outcome).toBe('revoked')
    })

    it('a sign-in continues after a long pause', async () => {
      let token = await begin()
      for (let step = 0; step < 40; step++) {
        clock.advance(step % 3 === 0 ? 100 : 60_000)
        token = await successorOf(token)
      }
      clock.advance(86_400_000)
      expect((await signIns.rotate(token)).outcome).toBe('ended')
      await removeExpired()
      expect((await signIns.rotate(token)).outcome).toBe('ended')
      clock.advance(40 * 86_400_000)
      await removeExpired()
      expect((await signIns.rotate(token)).outcome).toBe('unknown')
    })

    const removeExpired = () =>
      removeExpiredRows(store)
        .find(({ name }) => name.startsWith('sign_ins'))!
        .run(clock.now())

    async function successorOf(token: string): Promise<string> {
      const rotation = await signIns.rotate(token)
      return rotation.outcome === 'ok' ? rotation.refreshToken : rotation.outcome
    }
  },
  migrations,
)
