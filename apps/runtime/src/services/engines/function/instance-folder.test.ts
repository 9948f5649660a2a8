/** The folder of the sockets of one run. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createInstanceFolder, createRunFolder, findRunFolder } from './instance-folder.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'a-'))
})
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

it('leaves no folder of an instance behind that could not be given to its user', () => {
  const path = join(folder, '1')
  expect(() => createInstanceFolder(path, -2)).toThrow('out of range')
  expect(existsSync(path)).toBe(false)
})
