import { createFakeClock, createMemoryLog, findRedis, startRedisCluster } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { openClusterStore } from './cluster-store.ts'

it.skipIf(!findRedis())('opens when the only node of the cluster answers a moment later', async () => {
  const redis = await startRedisCluster(1, 0)
  const port = redis.ports[0]!
  redis.kill(port)
  await expect.poll(() => redis.command(port, 'ping')).not.toMatch(/^PONG/)
  const log = createMemoryLog()
  const parts = { silenceMs: 1000, forgetAfter: 60_000, clock: createFakeClock(), log }
  const opening = openClusterStore({ urls: redis.urls, ...parts })
  // An attempt has failed.
  await expect.poll(() => log.lines).not.toEqual([])
  await redis.revive(port)
  await (await opening).close()
  await redis.stop()
})
