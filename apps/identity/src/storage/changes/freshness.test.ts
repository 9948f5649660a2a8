import { createFakeClock } from '@selvedge/service-kit/testing'
import { beforeEach, expect, it } from 'vitest'
import { createFreshness, refuseIfOutdated } from './freshness.ts'

const maxAgeMs = 5000
const system = createFakeClock()
let monotonic: number
beforeEach(() => {
  monotonic = 1000
})
const create = (isShared = true) =>
  createFreshness({ isShared, system, monotonic: () => monotonic, maxAgeMs })

it('is outdated after the maximum age, by the monotonic clock', () => {
  const freshness = create()
  monotonic += maxAgeMs
  expect(freshness.isOutdated()).toBe(false)
  monotonic += 1
  expect(freshness.isOutdated()).toBe(true)
})

it('is outdated after the maximum age, by the clock of a machine that slept', () => {
  const freshness = create()
  system.advance(maxAgeMs)
  expect(freshness.isOutdated()).toBe(false)
  system.advance(1)
  expect(freshness.isOutdated()).toBe(true)
})

it('has no maximum age if the store belongs to one process', () => {
  const freshness = create(false)
  monotonic += 10 * maxAgeMs
  expect(freshness.isOutdated()).toBe(false)
})

it('is as old as the beginning of the last successful poll', () => {
  const freshness = create()
  const begun = freshness.instant()
  monotonic += maxAgeMs
  freshness.read(begun)
  monotonic += 1
  expect(freshness.isOutdated()).toBe(true)
})

it('is outdated while a change of this process may be missing, with any store', () => {
  for (const isShared of [true, false]) {
    const freshness = create(isShared)
    freshness.setBehind()
    expect(freshness.isOutdated()).toBe(true)
    freshness.read(freshness.instant())
    expect(freshness.isOutdated()).toBe(false)
  }
})

it('has the age of the last successful poll if replicas share the store, and no age otherwise', () => {
  const freshness = create()
  monotonic += 1234
  expect(freshness.ageMs()).toBe(1234)
  expect(create(false).ageMs()).toBeUndefined()
})

it('knows how long ago a poll failed', () => {
  const freshness = create()
  expect(freshness.failedWithin(1000)).toBe(false)
  freshness.failed()
  monotonic += 1000
  expect(freshness.failedWithin(1000)).toBe(true)
  monotonic += 1
  expect(freshness.failedWithin(1000)).toBe(false)
})

it('refuses with 503 and a time to try again', () => {
  expect(() => refuseIfOutdated(false)).not.toThrow()
  expect(() => refuseIfOutdated(true)).toThrow(
    expect.objectContaining({ code: 'temporarily_unavailable', status: 503, retryAfter: 1 }),
  )
})
