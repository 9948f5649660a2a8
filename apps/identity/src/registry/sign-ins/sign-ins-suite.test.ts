/** Refresh tokens on every store: whatever the store's speed, one token leads to one successor. */
import { setTimeout as pause } from 'node:timers/promises'
import { openSql } from '@selvedge/service-kit/sql'
import type { SqlStore } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { noFolding } from '../../../../../tests/harness/grants.ts'
import { openChanges } from '../../storage/changes/changes.ts'
import { migrations } from '../../storage/schema.ts'
import { removeExpiredRows } from '../expired-rows.ts'
import { openRevocations } from '../revocation/revocations.ts'
import { createSignIns, newSid, type SignIns } from './sign-ins.ts'

/** Races in all, each of ten requests that show the same token at once; and their waits for the store, in milliseconds. */
const races = 10_000
/** After these milliseconds a store, or a busy machine, has raced enough. */
const mostRacingMs = 20_000
const atOnce = 10
const latencies = [0, 1, 3, 10]

/** A store behind a slow network: each statement waits, some longer than others, before and after. */
function slow(store: SqlStore, latency: { ms: number }): SqlStore {
  const wait = () => (latency.ms === 0 ? undefined : pause(Math.random() * latency.ms))
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
    const latency = { ms: 0 }
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

    it(`up to ${races} races of ${atOnce} requests each have one successor, and end no sign-in`, async () => {
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
      const share = races / latencies.length
      for (const ms of latencies) {
        latency.ms = ms
        const endMs = performance.now() + mostRacingMs / latencies.length
        const lanes = Array.from({ length: 50 }, async () => {
          for (let done = 0; done < share / 50 && (done === 0 || performance.now() < endMs); done++)
            await race()
        })
        await Promise.all(lanes)
      }
      latency.ms = 0
      console.info(
        `${name}: ${counts.races} races of ${atOnce} parallel refreshes, ${latencies.join('/')} ms latency: ` +
          `${counts.doubles} double successes, ${counts.lost} lost sessions`,
      )
      expect(counts).toMatchObject({ doubles: 0, lost: 0 })
    }, 240_000)

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
