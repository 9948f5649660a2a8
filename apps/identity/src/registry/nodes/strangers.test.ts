/** Nodes that enrol and are never seen again. */
import { sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog, openMemoryStore } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { openChanges } from '../../storage/changes/changes.ts'
import { migrations } from '../../storage/schema.ts'
import { createSeal } from '../../storage/secrets/seal.ts'
import { createNodes, type Node } from './nodes.ts'
import { removeStrangers } from './strangers.ts'

const day = 86_400_000

it('removes nodes that never had an account and were not seen for a week, and no others', async () => {
  const clock = createFakeClock()
  const store = openMemoryStore(migrations)
  const changes = await openChanges({ store, clock, system: clock, log: createMemoryLog(), maxAgeMs: 1e12 })
  const seal = createSeal([Buffer.alloc(32, 9)])
  const nodes = createNodes({ store, clock, changes, seal, revocations: {} as never, maxNodes: 10 })
  const enrol = (nodeId: string, more: Partial<Node> = {}) =>
    nodes.save(
      {
        nodeId,
        name: nodeId,
        accountId: '',
        hmac: { nodeKey: '{}', cloudKey: '{}', secret: 'secret' },
        enrolledAt: clock.now(),
        lastSeenAt: clock.now(),
        blockedAt: null,
        version: '',
        services: [],
        removedAccount: '',
        accountEpoch: 0,
        accountAt: 0,
        ...more,
      },
      { isNews: true, accountBefore: '' },
    )
  await Promise.all(Array.from({ length: 1200 }, (_, at) => enrol(`stranger${at}`)))
  await enrol('associated', { accountId: 'a1' })
  await enrol('removed', { removedAccount: 'a1' })
  await enrol('blocked')
  await store.run(sql`UPDATE nodes SET blocked_at = 1 WHERE node_id = 'blocked'`)
  await enrol('left')
  await store.run(sql`UPDATE nodes SET account_at = 1, account_epoch = 1 WHERE node_id = 'left'`)
  clock.advance(6 * day)
  await enrol('young')
  await removeStrangers(store, 7 * day).run(clock.now())
  expect(await nodes.list()).toHaveLength(1205)
  clock.advance(2 * day)
  await removeStrangers(store, 7 * day).run(clock.now())
  const left = (await nodes.list()).map(({ nodeId }) => nodeId).sort()
  expect(removeStrangers(store, 7 * day).name).toBe('nodes')
  expect(left).toEqual(['associated', 'blocked', 'left', 'removed', 'young'])
  // A removed node can enrol again, even while this process still has it in memory.
  await enrol('stranger0')
  expect((await nodes.find('stranger0'))!.nodeId).toBe('stranger0')
  expect(await nodes.list('a1')).toHaveLength(1)
  await changes.stop()
  await store.close()
})
