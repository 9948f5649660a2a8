import { expect, it } from 'vitest'
import { createDownloads } from './downloads.ts'

it.each([
  [0, 90_000, ''],
  [1, 900, 'its download was interrupted once, and needed 1 s'],
  [12, 61_001, 'its download was interrupted 12 times, and needed 62 s'],
])('describes %i interruptions in %i ms as "%s"', (interruptions, ms, expected) => {
  const downloads = createDownloads()
  downloads.note('a/c/web', { interruptions, ms })
  expect([downloads.describe('a/c/web'), downloads.describe('a/c/other')]).toEqual([expected, ''])
})

it('lists the last download of each of the 200 newest images', () => {
  const downloads = createDownloads()
  const note = (key: string, interruptions = 1) => downloads.note(key, { interruptions, ms: 0 })
  note('first')
  for (let at = 0; at < 199; at++) note(`${at}`)
  note('first', 0)
  expect(downloads.describe('first')).toBe('')
  note('last')
  expect(['0', '1', 'last'].map((key) => downloads.describe(key) !== '')).toEqual([false, true, true])
})
