import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { maxUnreadMs, watchReader } from './unread-events.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

function reader() {
  const stream = new PassThrough({ highWaterMark: 4 })
  let ended = 0
  const stop = watchReader(stream, () => ended++)
  return { stream, stop, ended: () => ended }
}

it('ends a client that reads nothing, but not one that reads, or has nothing to read', async () => {
  const { stream, stop, ended } = reader()
  vi.advanceTimersByTime(10 * maxUnreadMs)
  expect(ended()).toBe(0)
  stream.write('12345678')
  vi.advanceTimersByTime(maxUnreadMs)
  const drained = new Promise((resolve) => stream.once('drain', resolve))
  stream.read()
  await drained
  stream.write('12345678')
  vi.advanceTimersByTime(maxUnreadMs)
  expect(ended()).toBe(0)
  vi.advanceTimersByTime(maxUnreadMs)
  expect(ended()).toBe(1)
  stop()
  vi.advanceTimersByTime(10 * maxUnreadMs)
  expect([ended(), vi.getTimerCount(), stream.listenerCount('drain')]).toEqual([1, 0, 0])
})

it('gives a client its whole time from the first bytes that wait', () => {
  const { stream, stop, ended } = reader()
  vi.advanceTimersByTime(maxUnreadMs - 1)
  stream.write('12345678')
  vi.advanceTimersByTime(1)
  expect(ended()).toBe(0)
  vi.advanceTimersByTime(maxUnreadMs)
  expect(ended()).toBe(1)
  stop()
})
