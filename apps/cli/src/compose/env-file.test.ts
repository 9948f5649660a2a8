// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of Compose files
import { expect, it } from 'vitest'
import { readEnvFile } from './env-file.ts'

const outer = { get: (name: string) => (name === 'HOME_TOWN' ? 'Oslo' : undefined), onUnset: () => undefined }
const read = (text: string, isRaw = false) => {
  const { lines, problems } = readEnvFile(text, outer, isRaw)
  return { values: lines.map(({ name, value }) => [name, value]), problems }
}
const firstValue = (text: string) => read(text).values[0]?.[1]

it.each([
  ['A=b', 'b'],
  ['export A=b', 'b'],
  ['A = b c ', 'b c'],
  ['A=b # comment', 'b'],
  ['A=b#c', 'b#c'],
  ['A=#c', ''],
  ['A=', ''],
  ["A='$B # c' # d", '$B # c'],
  ['A="b\\n\\"c\\" \\$d"', 'b\n"c" $d'],
  ['A=${HOME_TOWN} $$', 'Oslo $'],
  ['A="${NO:-x}"', 'x'],
  ['A="two\nlines"', 'two\nlines'],
  ['A=b\r', 'b'],
  ['A: b', 'b'],
])('reads %j', (text, expected) => {
  expect(firstValue(text)).toBe(expected)
})

it('has no value for a name alone', () => {
  expect(read('HOME_TOWN\n').values).toEqual([['HOME_TOWN', undefined]])
})

it('uses variables of earlier lines', () => {
  expect(read('A=1\nB=${A}2\n').values).toEqual([
    ['A', '1'],
    ['B', '12'],
  ])
})

it('uses values as they are in a raw file', () => {
  expect(read('A="$B" # c\n', true).values).toEqual([['A', '"$B" # c']])
})

it('counts lines, those in quotes included', () => {
  const { problems, values } = read('# a\n\nA="x\ny"\nwhat is this\nB=\'open\nC=${\n')
  expect(values).toEqual([['A', 'x\ny']])
  expect(problems.map(({ line }) => line)).toEqual([5, 6, 7])
  expect(problems.map(({ message }) => message)).toEqual([
    '"what is this" is not a variable. Write NAME=value, or # before a comment.',
    "The value has no closing '. Add it.",
    expect.stringContaining('is not a variable'),
  ])
})

it('refuses text after the closing quote', () => {
  expect(read('A="b" c').problems).toEqual([{ line: 1, message: '" c" follows the closing ". Remove it.' }])
})

it('reads a file of many lines, and one of many quotes that are not closed', () => {
  expect(read('A=b\n'.repeat(20_000)).values).toHaveLength(20_000)
  expect(read(`A='\n${'B="x" y\n'.repeat(10_000)}`).problems).toHaveLength(10_001)
})
