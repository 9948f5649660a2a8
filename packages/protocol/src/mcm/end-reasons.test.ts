import { expect, it } from 'vitest'
import { describeEndReason } from './end-reasons.ts'

it('describes each reason by the setting that a person can change', () => {
  expect(describeEndReason('out_of_memory')).toBe('it used more memory than its limit (MCM.MEMORY_MB)')
  for (const reason of ['disk_full', 'exited', 'not_reacting', 'not_started', 'unhealthy'])
    expect(describeEndReason(reason)).toMatch(/^it(?:s| )/)
})

it.each(['', 'of_the_future', 'constructor', '__proto__', 'toString'])('does not describe %j', (reason) => {
  expect(describeEndReason(reason)).toBe('')
})
