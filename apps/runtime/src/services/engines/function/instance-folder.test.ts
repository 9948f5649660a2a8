/** The folder of the sockets of one run. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { createRunFolder, findRunFolder } from './instance-folder.ts'

const folder = mkdtempSync(join(tmpdir(), 'a-'))
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

it('leaves no folder of a run behind that could not be noted', () => {
  const temporary = join(folder, 'temporary')
  mkdirSync(temporary)
  vi.stubEnv('TMPDIR', temporary)
  const note = join(folder, 'state', 'note')
  for (let attempt = 0; attempt < 3; attempt++) expect(() => createRunFolder(note)).toThrow('ENOENT')
  expect(readdirSync(temporary)).toEqual([])
  mkdirSync(join(folder, 'state'))
  expect(findRunFolder(note)).toBeUndefined()
  const path = createRunFolder(note)
  expect(findRunFolder(note)).toBe(path)
})
