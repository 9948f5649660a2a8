/** An instance with requests is in use until the last one ends. */
import { createLimitedWork, createWorkCount } from '@selvedge/service-kit/work'
import { expect, it } from 'vitest'
import type { Running } from '../containers/instances.ts'
import { countRequest } from './request-count.ts'

it('a request counts until its end, and as unanswered until its answer begins', () => {
  let now = 10
  const running = {
    requests: createWorkCount(),
    unanswered: createLimitedWork({ now: () => now }),
    lastUsed: 0,
  }
  const counts = () => [running.requests.underWay, running.unanswered.underWay, running.lastUsed]
  const [one, other] = [1, 2].map(() => countRequest(running as unknown as Running, () => now)) as [
    ReturnType<typeof countRequest>,
    ReturnType<typeof countRequest>,
  ]
  expect(counts()).toEqual([2, 2, 0])
  one.answered()
  one.answered()
  expect(counts()).toEqual([2, 1, 0])
  now = 20
  one.end()
  expect(counts()).toEqual([1, 1, 20])
  now = 30
  other.end()
  expect(counts()).toEqual([0, 0, 30])
})
