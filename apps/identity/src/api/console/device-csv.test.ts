import { expect, it } from 'vitest'
import { csvHead, toCell } from './device-csv.ts'

it.each([
  ['=1', '"\'=1"'],
  ['+1', '"\'+1"'],
  ['-1', '"\'-1"'],
  ['@x', '"\'@x"'],
  ['\t=1', '"\' =1"'],
  ['\r=1', '"\' =1"'],
  ['\n@x', '"\' @x"'],
  [' =1', '"\' =1"'],
  ['\u00a0=1', '"\'\u00a0=1"'],
  ['\u202e=1', '"\'=1"'],
  ['\u0000=1', '"\'=1"'],
  ['\uff1d1', '"\'\uff1d1"'],
  ['a"b', '"a""b"'],
  ['a=1', '"a=1"'],
  ['', '""'],
])('writes the text %j as %s', (text, cell) => {
  expect(toCell(text)).toBe(cell)
})

it('writes numbers as numbers, also negative ones, and nothing for nothing', () => {
  expect([-12.5, 0, null].map(toCell)).toEqual(['-12.5', '0', ''])
})

it('has a head without text of others', () => {
  expect(csvHead).toMatch(/^"Node ID",.*"\r\n$/)
})
