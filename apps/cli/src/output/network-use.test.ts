import { expect, it } from 'vitest'
import { describeUse, type NetworkUse } from './network-use.ts'

const idle: NetworkUse = {
  ...{ metered: false, meteredReason: 'no modem', today: {}, thisMonth: {}, dayBudget: 0, monthBudget: 0 },
}
const bytes = (sentBytes: number, receivedBytes: number) => ({ sentBytes, receivedBytes })

it('a device without use has one line', () => {
  expect(describeUse(idle)).toEqual(['today 0 kB, this month 0 kB'])
})

it('lists the use of the month by purpose, the largest first, without those of no byte', () => {
  const use = {
    today: { discovery: bytes(1000, 500) },
    thisMonth: {
      other: bytes(0, 0),
      discovery: bytes(3000, 2000),
      images: bytes(10_000, 70_000_000),
      identity: bytes(7000, 0),
    },
  }
  expect(describeUse({ ...idle, ...use })).toEqual([
    'today 2 kB, this month 70.0 MB (images 70.0 MB, identity 7 kB, discovery 5 kB)',
  ])
})

it('shows budgets, why the link is metered, and why downloads wait', () => {
  const [first, ...others] = describeUse({
    ...idle,
    ...{ metered: true, meteredReason: 'the link is a modem', dayBudget: 1_000_000, monthBudget: 20_000_000 },
    downloadsWait: 'the link is metered',
  })
  expect(first).toBe('today 0 kB of 1.0 MB, this month 0 kB of 20.0 MB')
  expect(others).toEqual(['metered: the link is a modem', 'downloads wait: the link is metered'])
})

it('shows one budget without the other', () => {
  expect(describeUse({ ...idle, monthBudget: 2000 })).toEqual(['today 0 kB, this month 0 kB of 2 kB'])
})
