/** Files and links that a power cut leaves as before or after: what is synced, and in which order. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openBelow, recordSteps } from '../../../../tests/harness/recorded-steps.ts'
import { readLink, removeLink, setLink, sync, syncTree } from './durable.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-durable-'))
})
afterEach(() => {
  expect(openBelow(folder)).toEqual([])
  rmSync(folder, { recursive: true })
})

describe('a sync', () => {
  it('is of the file, not of one that a link leads to', () => {
    writeFileSync(join(folder, 'file'), '')
    symlinkSync('file', join(folder, 'link'))
    const steps = recordSteps(folder)
    sync(join(folder, 'file'))
    expect(steps).toEqual(['sync file'])
    expect(() => sync(join(folder, 'link'))).toThrow('ELOOP')
  })

  it('of a tree is of each file and folder, contents before names, and of nothing that links or waits', () => {
    mkdirSync(join(folder, 'a/b'), { recursive: true })
    writeFileSync(join(folder, 'a/b/file'), '')
    symlinkSync('nowhere', join(folder, 'a/link'))
    execFileSync('mkfifo', [join(folder, 'a/pipe')])
    const steps = recordSteps(folder)
    syncTree(folder)
    expect(steps).toEqual(['sync a/b/file', 'sync a/b', 'sync a', 'sync .'])
  })
})

describe('a link', () => {
  it('is replaced in one step, and then durable', () => {
    symlinkSync('old', join(folder, 'link'))
    symlinkSync('left by a power cut', join(folder, 'link.new'))
    const steps = recordSteps(folder)
    setLink(join(folder, 'link'), 'new')
    expect(steps).toEqual(['remove link.new', 'link link.new to new', 'rename link.new to link', 'sync .'])
    expect(readLink(join(folder, 'link'))).toBe('new')
  })

  it('is removed, and stays so after a power cut; without one, nothing happens', () => {
    symlinkSync('old', join(folder, 'link'))
    const steps = recordSteps(folder)
    removeLink(join(folder, 'link'))
    expect(steps).toEqual(['remove link', 'sync .'])
    expect(readLink(join(folder, 'link'))).toBeUndefined()
    removeLink(join(folder, 'link'))
  })

  it('is not there if it is a file, and an error if its folder is a file', () => {
    writeFileSync(join(folder, 'file'), '')
    expect(readLink(join(folder, 'file'))).toBeUndefined()
    expect(() => readLink(join(folder, 'file/link'))).toThrow('ENOTDIR')
  })
})
