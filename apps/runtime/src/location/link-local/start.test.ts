import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { LinkLocalParts } from './link-local.ts'
import { createLinkLocal } from './start.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Parts that count every read. */
function countedParts(): { parts: LinkLocalParts; reads: string[] } {
  const reads: string[] = []
  const parts = {
    nodeId: 'ab'.repeat(28),
    interfaces: ['no-such-interface'],
    port: () => 8083,
    now: () => 0,
    accountId: () => '',
    accountKey: () => undefined,
    isTimeTrusted: () => false,
  } as unknown as LinkLocalParts
  const record = (target: LinkLocalParts, name: string) => {
    reads.push(name)
    return target[name as keyof LinkLocalParts]
  }
  return { parts: new Proxy(parts, { get: (target, name) => record(target, String(name)) }), reads }
}

it('reads nothing of its parts before the start', async () => {
  const { parts, reads } = countedParts()
  const service = createLinkLocal(true, parts)
  await vi.advanceTimersByTimeAsync(60_000)
  service.restate()
  expect(await service.neighbours('account')).toEqual([])
  expect(reads).toEqual([])
  service.start()
  await vi.advanceTimersByTimeAsync(999)
  expect(reads).toEqual([])
  expect(service.heard()).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(reads).toContain('interfaces')
  await service.close()
})

it('stays closed after the end', async () => {
  const { parts, reads } = countedParts()
  const service = createLinkLocal(true, parts)
  service.start()
  await service.close()
  expect(vi.getTimerCount()).toBe(0)
  service.start()
  expect(await service.neighbours('account')).toEqual([])
  await vi.advanceTimersByTimeAsync(60_000)
  expect(reads).toEqual([])
})

it('names the setting that enables it', async () => {
  const { parts, reads } = countedParts()
  const service = createLinkLocal(false, parts)
  service.start()
  await expect(service.neighbours('account')).rejects.toMatchObject({ reason: 'not_found' })
  await vi.advanceTimersByTimeAsync(60_000)
  expect(reads).toEqual([])
  await service.close()
})

it('opens at once for the first question', async () => {
  const { parts, reads } = countedParts()
  const service = createLinkLocal(true, parts)
  service.start()
  expect(await service.neighbours('account')).toEqual([])
  const before = reads.filter((each) => each === 'interfaces').length
  expect(before).toBeGreaterThan(0)
  await vi.advanceTimersByTimeAsync(1000)
  service.start()
  await vi.advanceTimersByTimeAsync(999)
  expect(service.heard()).toEqual([])
  await service.close()
})
