import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSecretFiles, secretsFolder } from './secret-files.ts'

/** In memory on every Linux. */
const memory = '/dev/shm'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(memory, 'secret-files-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const modeOf = (path: string) => statSync(path).mode & 0o777
const secret = (file: string, text: string) => ({ name: file, file, value: Buffer.from(text) })

describe('the folder of secret files', () => {
  it('is in the first folder in memory, and closed to other users', () => {
    const path = secretsFolder('me', ['/nowhere', '/proc', folder])
    expect(path).toBe(join(folder, 'selvedge-secrets-me'))
    expect(modeOf(path)).toBe(0o700)
    expect(secretsFolder('me', [folder])).toBe(path)
  })

  it('is nowhere on a disk', () => {
    expect(() => secretsFolder('me', ['/proc', '/nowhere'])).toThrow(
      'the device has no folder in memory for secrets',
    )
  })

  it('is refused if another program has prepared it', () => {
    const path = join(folder, 'selvedge-secrets-me')
    mkdirSync(path)
    chmodSync(path, 0o755)
    expect(() => secretsFolder('me', [folder])).toThrow('is not a folder of the user of the runtime')
    rmSync(path, { recursive: true })
    symlinkSync(tmpdir(), path)
    expect(() => secretsFolder('me', [folder])).toThrow('is not a folder of the user of the runtime')
  })
})

describe('the files of an instance', () => {
  it('have the values, for every user of the container, and are replaced as a whole', () => {
    const files = openSecretFiles(folder, 'one')
    files.replace([secret('db', 'first'), secret('key.pem', 'k')])
    expect(modeOf(files.path)).toBe(0o755)
    expect(modeOf(join(files.path, 'db'))).toBe(0o444)
    const { ino } = statSync(files.path)
    files.replace([secret('db', 'second')])
    expect(readdirSync(files.path)).toEqual(['db'])
    expect(readFileSync(join(files.path, 'db'), 'utf8')).toBe('second')
    expect(statSync(openSecretFiles(folder, 'one').path).ino).toBe(ino)
    files.remove()
    files.remove()
    expect(readdirSync(folder)).toEqual([])
  })
})
