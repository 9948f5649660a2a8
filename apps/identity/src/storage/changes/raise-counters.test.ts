/** A restored backup, and tokens from after it was made. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSql } from '@selvedge/service-kit/sql'
import { sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { noFolding } from '../../../../../tests/harness/grants.ts'
import { openRevocations } from '../../registry/revocation/revocations.ts'
import { migrations } from '../schema.ts'
import { openChanges } from './changes.ts'
import { raiseCounters } from './raise-counters.ts'

it('"revoke all" after a backup was restored reaches tokens from after the backup was made', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'restored-'))
  const [path, backup] = [join(folder, 'identity.db'), join(folder, 'backup.db')]
  const clock = createFakeClock()
  async function start() {
    const store = await openSql(`sqlite:${path}`, migrations)
    await raiseCounters(store, clock)
    const changes = await openChanges({
      store,
      clock,
      system: clock,
      log: createMemoryLog(),
      maxAgeMs: 60_000,
    })
    const revocations = await openRevocations(store, clock, changes, 3600, noFolding)
    const stop = async () => {
      await changes.stop()
      await store.close()
    }
    return { changes, revocations, store, stop }
  }
  await (await start()).stop()
  copyFileSync(path, backup)
  clock.advance(60_000)
  const first = await start()
  for (let at = 0; at < 50; at++) await first.changes.commit([], [['node', `n${at}`]])
  const token = {
    jti: 't',
    iat: Math.floor(clock.now() / 1000),
    epoch: first.changes.epoch(),
    account_id: 'a',
  }
  await first.stop()
  for (const each of ['', '-wal', '-shm']) rmSync(path + each, { force: true })
  copyFileSync(backup, path)
  clock.advance(5000)
  const second = await start()
  await second.revocations.revokeAll('account', 'a')
  expect(second.revocations.reasonFor(token)).toMatch(/revoked all/)
  // Replicas of other versions know the topic by its name.
  const raises = await second.store.run(sql`SELECT subject FROM changes WHERE topic = 'raised' ORDER BY seq`)
  expect(raises.length).toBeGreaterThan(0)
  // What is issued from now on is valid, and lists of revoked tokens are newer than those from before.
  expect(second.revocations.reasonFor({ ...token, epoch: second.changes.epoch() })).toBeUndefined()
  const counters = await second.store.run(sql`SELECT value FROM counters WHERE name = 'revocations'`)
  expect(counters[0]!.value).toBeGreaterThan(token.epoch)
  await second.stop()
  rmSync(folder, { recursive: true })
})
