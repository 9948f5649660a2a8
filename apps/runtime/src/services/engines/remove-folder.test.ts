import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { removeFolder } from './remove-folder.ts'

const names = ['socket', 'start/service', 'start']
let parent: string
let path: string
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'selvedge-remove-'))
  path = join(parent, 'instance')
  mkdirSync(join(path, 'start'), { recursive: true })
  writeFileSync(join(path, 'socket'), '')
  writeFileSync(join(path, 'start', 'service'), '')
})
afterEach(() => rmSync(parent, { recursive: true }))

describe('a folder of an instance', () => {
  it('is removed where some of the expected names are missing', () => {
    rmSync(join(path, 'start'), { recursive: true })
    removeFolder(path, names)
    expect(existsSync(path)).toBe(false)
  })

  it('is removed once, and without an error a second time', () => {
    removeFolder(path, names)
    removeFolder(path, names)
    expect(existsSync(path)).toBe(false)
  })

  it('is removed with names that are not expected, and with a folder where a socket is expected', () => {
    rmSync(join(path, 'socket'))
    mkdirSync(join(path, 'socket', 'below'), { recursive: true })
    writeFileSync(join(path, 'other'), '')
    removeFolder(path, names)
    expect(existsSync(path)).toBe(false)
  })

  it('is removed without what a link in it leads to', () => {
    const kept = join(parent, 'kept')
    mkdirSync(kept)
    rmSync(join(path, 'socket'))
    symlinkSync(kept, join(path, 'socket'))
    removeFolder(path, names)
    expect([existsSync(path), existsSync(kept)]).toEqual([false, true])
  })

  it('is removed by a process without a free file descriptor', () => {
    const script = `
      const { openSync } = require('node:fs')
      const { removeFolder } = require(${JSON.stringify(join(import.meta.dirname, 'remove-folder.ts'))})
      try { for (;;) openSync('/dev/null') } catch (cause) { if (cause.code !== 'EMFILE') throw cause }
      removeFolder(${JSON.stringify(path)}, ${JSON.stringify(names)})`
    execFileSync('/bin/sh', ['-c', 'ulimit -n 64; exec "$0" --eval "$1"', process.execPath, script])
    expect(existsSync(path)).toBe(false)
  })
})
