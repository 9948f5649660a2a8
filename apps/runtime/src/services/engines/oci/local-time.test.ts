import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readLocalTime } from './local-time.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'local-time-'))
  mkdirSync(join(folder, 'zoneinfo/Europe'), { recursive: true })
  writeFileSync(join(folder, 'zoneinfo/Europe/Berlin'), 'TZif2 rules')
})
afterEach(() => rmSync(folder, { recursive: true }))

const files = () => ({ localtime: join(folder, 'localtime'), timezone: join(folder, 'timezone') })
const link = () => symlinkSync('zoneinfo/Europe/Berlin', files().localtime)

it('is that of the link into the database', () => {
  link()
  expect(readLocalTime(files())).toEqual({ zone: 'Europe/Berlin', rules: Buffer.from('TZif2 rules') })
})

it('has the name of the file with the name, where there is one', () => {
  link()
  writeFileSync(files().timezone, 'Europe/Paris\n')
  expect(readLocalTime(files()).zone).toBe('Europe/Paris')
  for (const text of ['', '../../etc/passwd', 'a b', 'x'.repeat(100)]) {
    writeFileSync(files().timezone, text)
    expect(readLocalTime(files()).zone).toBe('Europe/Berlin')
  }
})

it.each([
  ['without a file', () => undefined],
  ['with something else in it', () => writeFileSync(files().localtime, 'of the device')],
  ['with a folder in its place', () => mkdirSync(files().localtime)],
  ['with too long a file', () => writeFileSync(files().localtime, Buffer.alloc(70_000, 'TZif'))],
])('is UTC %s', (_, prepare) => {
  prepare()
  expect(readLocalTime(files())).toMatchObject({ zone: 'Etc/UTC' })
})

it('gives UTC as programs of the system read it', () => {
  const path = join(folder, 'utc')
  writeFileSync(path, readLocalTime(files()).rules)
  const date = (zone: string) =>
    execFileSync('date', ['-d', '@0', '+%F %T %Z'], { env: { TZ: zone }, encoding: 'utf8' })
  expect(date(`:${path}`)).toBe('1970-01-01 00:00:00 UTC\n')
})
