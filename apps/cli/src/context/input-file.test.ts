import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../tests/harness/processes.ts'
import { readInputFile } from './input-file.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let path: string
beforeEach(async () => {
  folder = await temporaryFolder()
  path = join(folder.path, 'token')
})
afterEach(() => folder.remove())

it('a file is read up to its limit', () => {
  writeFileSync(path, '12345')
  expect(readInputFile(path, 5, 'hint')).toBe('12345')
  expect(readInputFile(path, 6, 'hint')).toBe('12345')
  expect(() => readInputFile(path, 4, 'hint')).toThrow(
    expect.objectContaining({ message: `${path} has more than 4 bytes`, hint: 'hint' }),
  )
})

it('a device that never ends is refused', () => {
  expect(() => readInputFile('/dev/zero', 1000, '')).toThrow('/dev/zero has more than 1000 bytes')
})

it('a file that cannot be read is named, with what to do', () => {
  mkdirSync(path)
  for (const each of [path, `${path}/missing`])
    expect(() => readInputFile(each, 5, 'hint')).toThrow(
      expect.objectContaining({ message: expect.stringContaining(`can't read ${each}: `), hint: 'hint' }),
    )
})

it('what arrives in parts is read to its end', () => {
  // The file of a process in /proc gives a part at a time.
  const whole = readFileSync('/proc/self/maps', 'utf8')
  expect(whole.length).toBeGreaterThan(10_000)
  expect(readInputFile('/proc/self/maps', 10_000_000, '').split('\n')[0]).toBe(whole.split('\n')[0])
  expect(readInputFile('/proc/self/maps', 10_000_000, '').endsWith('\n')).toBe(true)
})
