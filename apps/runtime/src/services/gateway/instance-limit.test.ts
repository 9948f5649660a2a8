import { expect, it } from 'vitest'
import { createInstanceLimit, instanceRate, maxUnderWay } from './instance-limit.ts'

const busy = expect.objectContaining({ reason: 'busy' })

it('lets a number of requests through at the same time, and counts each until its answer is complete', () => {
  const limit = createInstanceLimit(() => 0)
  const ends = Array.from({ length: maxUnderWay }, () => limit.begin())
  expect(() => limit.begin()).toThrow(busy)
  ends[0]!()
  ends[0]!()
  limit.begin()
  expect(() => limit.begin()).toThrow(busy)
})

it('lets a burst through, then so many each second, whether they are requests or parts of one', () => {
  let now = 0
  const limit = createInstanceLimit(() => now)
  const pass = (times: number) => {
    for (let at = 0; at < times; at++) {
      if (at % 2 === 0) limit.begin()()
      else limit.take()
    }
  }
  pass(instanceRate.burst)
  expect(() => limit.begin()).toThrow(busy)
  expect(() => limit.take()).toThrow(busy)
  now += 1000
  pass(instanceRate.perSecond)
  expect(() => limit.begin()).toThrow(busy)
})

it('counts nothing as under way that was refused for its rate', () => {
  let now = 0
  const limit = createInstanceLimit(() => now)
  for (let at = 0; at < instanceRate.burst; at++) limit.take()
  for (let at = 0; at < 2 * maxUnderWay; at++) expect(() => limit.begin()).toThrow(busy)
  now += 1000
  for (let at = 0; at < maxUnderWay; at++) limit.begin()
})
