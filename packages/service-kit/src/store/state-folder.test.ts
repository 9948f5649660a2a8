/** A state folder that other users could write to: what they prepared in it is never used. */
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../tests/harness/installed.ts'
import { ConfigError } from '../config/index.ts'
import { lockStateFolder, openStateFolder } from './state-folder.ts'

const nobody = 65_534
let state: string
let outside: string
beforeEach(() => {
  outside = mkdtempSync(join(tmpdir(), 'state-'))
  state = join(outside, 'state')
  mkdirSync(state)
  chmodSync(state, 0o777)
})
afterEach(() => rmSync(outside, { recursive: true }))
const open = () => openStateFolder(state, 'identity', () => undefined)

describe('a state folder that was open to other users', () => {
  it('is narrowed where everything in it is of its owner', () => {
    mkdirSync(join(state, 'identity'), { mode: 0o755 })
    expect(open()).toBe(join(state, 'identity'))
    expect(statSync(join(state, 'identity')).mode & 0o777).toBe(0o700)
  })

  it('is refused where another user made a folder in it', needs('root'), () => {
    mkdirSync(join(state, 'identity'))
    chownSync(join(state, 'identity'), nobody, nobody)
    symlinkSync(join(outside, 'made'), join(state, 'identity/lock'))
    expect(() => {
      open()
      lockStateFolder(state, 'identity')
    }).toThrow(ConfigError)
    expect(existsSync(join(outside, 'made'))).toBe(false)
  })

  it(
    'is refused where another user put a link or a file into it, and at the next start as well',
    needs('root'),
    () => {
      mkdirSync(join(state, 'identity'))
      chmodSync(join(state, 'identity'), 0o777)
      symlinkSync(outside, join(state, 'identity/link'))
      lchownSync(join(state, 'identity/link'), nobody, nobody)
      for (let start = 0; start < 2; start++)
        expect(open).toThrow('identity/link in the state folder belongs to')
      expect(statSync(state).mode & 0o777).toBe(0o777)
    },
  )

  it('is refused with the folder of another user in it, whenever it was made private', needs('root'), () => {
    chmodSync(state, 0o700)
    mkdirSync(join(state, 'identity'))
    chownSync(join(state, 'identity'), nobody, nobody)
    expect(open).toThrow(ConfigError)
  })
})
