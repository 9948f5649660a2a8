import { expect, it } from 'vitest'
import { hardLimitIn, hardOpenFiles } from './open-files.ts'

const tableWith = (line: string) =>
  `Limit                     Soft Limit           Hard Limit           Units     \nMax processes             1                    2                    processes \n${line}\n`

it('reads the hard limit of open files', () => {
  expect(
    hardLimitIn(tableWith('Max open files            1024                 524288               files     ')),
  ).toBe(524_288)
})

it.each([
  'Max open files            1024                 unlimited            files     ',
  '',
  'Max open files',
])('has no limit without a number: %j', (line) => {
  expect(hardLimitIn(tableWith(line))).toBe(Number.POSITIVE_INFINITY)
})

it('has a limit above what the test needs itself', () => {
  expect(hardOpenFiles()).toBeGreaterThan(64)
})
