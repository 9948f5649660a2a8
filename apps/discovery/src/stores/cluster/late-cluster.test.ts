import { setTimeout as sleep } from 'node:timers/promises'
import { createFakeClock, createMemoryLog, findRedis, startRedisCluster } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { openClusterStore } from './cluster-store.ts'

it.skipIf(!findRedis())(
  'opens when the only node of the cluster answers a moment later',
  async () => {
    const redis = await startRedisCluster(1, 0)
    const port = redis.ports[0]!
    redis.kill(port)
    await sleep(200)
    const parts = { silenceMs: 1000, forgetAfter: 60_000, clock: createFakeClock(), log: createMemoryLog() }
    const opening = openClusterStore({ urls: redis.urls, ...parts })
    await Promise.all([
      expect(opening.then(() => 'open')).resolves.toBe('open'),
      sleep(500).then(() => redis.revive(port)),
    ])
    await (await opening).close()
    await redis.stop()
  },
  60_000,
)
