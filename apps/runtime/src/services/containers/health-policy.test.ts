import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createHealthMonitor } from './health-monitor.ts'
import { afterCheck, initialHealth, isCheckDue, mustEnd } from './health-policy.ts'
import type { Running } from './instances.ts'

describe('an instance', () => {
  const ended = (results: readonly boolean[]): boolean =>
    mustEnd(results.reduce(afterCheck, initialHealth(true, 0)))

  it.each([
    ['no check failed', [], false],
    ['two checks in a row failed', [false, false], false],
    ['three checks in a row failed', [false, false, false], true],
    ['three checks failed, not in a row', [false, false, true, false], false],
    ['three checks in a row failed after a good one', [false, true, false, false, false], true],
  ])('after %s: stopped %s', (_, results, isEnded) => {
    expect(ended(results)).toBe(isEnded)
  })

  it('is healthy at first only if it has a health path, and follows its last check from then on', () => {
    expect(initialHealth(true, 0).health).toBe('healthy')
    expect(initialHealth(false, 0).health).toBe('unknown')
    const failed = afterCheck(initialHealth(true, 0), false)
    expect([failed.health, afterCheck(failed, true).health]).toEqual(['unhealthy', 'healthy'])
  })

  it('is checked every 30 seconds', () => {
    const state = initialHealth(true, 1000)
    expect([30_999, 31_000].map((now) => isCheckDue(state, now))).toEqual([false, true])
  })
})

describe('the monitor', () => {
  /** Checks an instance with these answers of its health path, 30 seconds apart on a fake clock. */
  async function check(statuses: readonly number[]) {
    const left = [...statuses]
    const server = createServer((_, response) => response.writeHead(left.shift() ?? 200).end())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const running = {
      plan: { content: { kind: 'oci' }, settings: { 'MCM.HEALTH_PATH': '/health' }, log: () => undefined },
      instance: { upstream: { host: '127.0.0.1', port } },
    } as unknown as Running
    let now = 0
    let ends = 0
    const health: string[] = []
    const end = async () => void ends++
    const monitor = createHealthMonitor(
      () => now,
      () => running,
      end,
    )
    monitor.watch(running)
    for (const [index] of statuses.entries()) {
      now += 30_000
      monitor.tick()
      monitor.tick()
      await expect.poll(() => left.length).toBe(statuses.length - index - 1)
      const expected = statuses[index] === 200 ? 'healthy' : 'unhealthy'
      await expect.poll(monitor.health).toBe(expected)
      health.push(monitor.health())
    }
    server.close()
    return { ends, health }
  }

  it('ends an instance at the third failed check in a row, and not before', async () => {
    expect(await check([500, 500])).toEqual({ ends: 0, health: ['unhealthy', 'unhealthy'] })
    expect(await check([500, 500, 500])).toMatchObject({ ends: 1 })
    expect(await check([500, 500, 200, 500, 500])).toMatchObject({ ends: 0 })
  })
})
