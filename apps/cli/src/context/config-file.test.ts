import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../tests/harness/processes.ts'
import { damagedFile, readConfigFile, writeConfigFile } from './config-file.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let path: string
beforeEach(async () => {
  folder = await temporaryFolder()
  path = join(folder.path, 'a.json')
})
afterEach(() => folder.remove())
const write = (content: unknown) =>
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content), { mode: 0o600 })

describe('a file', () => {
  it('states its format, and is read again', () => {
    writeConfigFile(path, { a: 1 })
    expect(readFileSync(path, 'utf8')).toBe('{"format":1,"a":1}\n')
    expect(readConfigFile(path, '')).toEqual({ format: 1, a: 1 })
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('may be missing, and may be from before there was a format', () => {
    expect(readConfigFile(path, '')).toBeUndefined()
    write(['x'])
    expect(readConfigFile(path, '')).toEqual(['x'])
  })

  it.each(['{', '', { format: 0 }, { format: 1.5 }, { format: '1' }, { format: null }])(
    'is damaged with %j, and the remedy is shown',
    (content) => {
      write(content)
      expect(() => readConfigFile(path, 'Remove it.')).toThrow(
        expect.objectContaining({ message: `${path} is damaged`, hint: 'Remove it.' }),
      )
    },
  )

  it('of a later version is neither read nor changed', () => {
    write({ format: 2 })
    const refusal = /was written by a later version of selvedge \(format 2; this version reads format 1\)/
    expect(() => readConfigFile(path, '')).toThrow(refusal)
    expect(() => writeConfigFile(path, {})).toThrow(refusal)
    expect(readFileSync(path, 'utf8')).toBe('{"format":2}')
  })

  it('that is damaged is named with its remedy', () => {
    expect(damagedFile('x', 'y')).toMatchObject({ message: 'x is damaged', hint: 'y' })
  })
})
