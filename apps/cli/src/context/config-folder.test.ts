/** Files with keys and sign-ins: which user owns them, and who else may read them. */
import fs, {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { temporaryFolder } from '../../../../tests/harness/processes.ts'
import {
  configFolder,
  readOwnFile,
  readPrivateFile,
  removePrivateFile,
  writePrivateFile,
} from './config-folder.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let path: string
beforeEach(async () => {
  folder = await temporaryFolder()
  path = join(folder.path, 'own/secret')
})
afterEach(() => folder.remove())

describe('the configuration folder', () => {
  it.each([
    [{ XDG_CONFIG_HOME: '/x', HOME: '/home/a' }, '/x/selvedge'],
    [{ XDG_CONFIG_HOME: 'x', HOME: '/home/a' }, '/home/a/.config/selvedge'],
    [{ HOME: '/home/a' }, '/home/a/.config/selvedge'],
    [{ HOME: 'a' }, join(homedir(), '.config/selvedge')],
    [{}, join(homedir(), '.config/selvedge')],
  ])('of %j is %s', (env, expected) => {
    expect(configFolder(env)).toBe(expected)
  })
})

describe('a private file', () => {
  it('is written for this user alone, as a whole, and read', () => {
    writePrivateFile(path, 'one')
    writePrivateFile(path, 'two')
    expect(readPrivateFile(path)).toBe('two')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(join(folder.path, 'own')).mode & 0o777).toBe(0o700)
    expect(readdirSync(join(folder.path, 'own'))).toEqual(['secret'])
  })

  it('may be missing', () => {
    expect(readPrivateFile(path)).toBeUndefined()
  })

  it.each([0o640, 0o604, 0o620, 0o602, 0o610, 0o601])('that others can use is refused (mode %o)', (mode) => {
    writePrivateFile(path, 'x')
    chmodSync(path, mode)
    expect(() => readPrivateFile(path)).toThrow(
      expect.objectContaining({
        message: `${path} is of user ${process.getuid!()} with mode ${mode.toString(8)}`,
        hint: `It must be a file of this user that no one else can read: chmod 600 ${path}`,
      }),
    )
  })

  it('is no symbolic link, no folder and no pipe', () => {
    writePrivateFile(path, 'x')
    const link = join(folder.path, 'link')
    symlinkSync(path, link)
    expect(() => readPrivateFile(link)).toThrow(`${link} is a symbolic link`)
    chmodSync(folder.path, 0o700)
    expect(() => readPrivateFile(folder.path)).toThrow(/with mode 700$/)
    expect(() => readPrivateFile(join(path, 'x'))).toThrow(/^can't read .*ENOTDIR/)
  })

  it('has at most a megabyte', () => {
    writePrivateFile(path, '')
    truncateSync(path, 1_048_576)
    expect(readPrivateFile(path)).toHaveLength(1_048_576)
    truncateSync(path, 1_048_577)
    expect(() => readPrivateFile(path)).toThrow(`${path} has 1048577 bytes, and not at most 1048576`)
  })

  it('leaves nothing of its draft when it cannot be written', () => {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    expect(() => writePrivateFile(path, 'x')).toThrow(path)
    expect(readdirSync(join(folder.path, 'own'))).toEqual(['secret'])
  })

  it.each([0o720, 0o702])('is not written to a folder that others can write to (mode %o)', (mode) => {
    writePrivateFile(path, 'x')
    const own = join(folder.path, 'own')
    chmodSync(own, mode)
    expect(() => writePrivateFile(path, 'y')).toThrow(
      expect.objectContaining({
        message: `${own} is of user ${process.getuid!()} with mode ${mode.toString(8)}; it must be yours alone`,
        hint: `chmod 700 ${own}, or set XDG_CONFIG_HOME to a folder of yours`,
      }),
    )
    expect(readFileSync(path, 'utf8')).toBe('x')
  })

  it('is not written to a folder of another user', () => {
    writePrivateFile(path, 'x')
    const uid = process.getuid!()
    vi.spyOn(process, 'getuid').mockReturnValue(uid + 1)
    onTestFinished(() => void vi.restoreAllMocks())
    expect(() => writePrivateFile(path, 'y')).toThrow(
      `is of user ${uid} with mode 700; it must be yours alone`,
    )
  })

  it('is closed after it was read, was refused, or its folder was synced', () => {
    const openFiles = () => readdirSync('/proc/self/fd').length
    writePrivateFile(path, 'x')
    const before = openFiles()
    for (let at = 0; at < 50; at++) {
      readPrivateFile(path)
      removePrivateFile(join(folder.path, 'own/missing'))
      expect(() => readOwnFile(path, 0o600, '')).toThrow()
    }
    expect(openFiles() - before).toBeLessThan(25)
  })

  it('is removed, also if it is missing', () => {
    writePrivateFile(path, 'x')
    removePrivateFile(path)
    removePrivateFile(path)
    expect(readPrivateFile(path)).toBeUndefined()
    removePrivateFile(join(folder.path, 'no folder', 'x'))
  })
})

describe('a file of another user', () => {
  const uid = process.getuid!()
  it('is that of an installed service, if it is named', () => {
    mkdirSync(join(folder.path, 'own'))
    writeFileSync(path, 'x', { mode: 0o644 })
    expect(readOwnFile(path, 0o022, 'hint')).toBe('x')
    expect(readOwnFile(path, 0o022, 'hint', uid)).toBe('x')
    expect(() => readOwnFile(path, 0o022, 'hint', uid + 1)).toThrow(
      expect.objectContaining({ message: `${path} is of user ${uid} with mode 644`, hint: 'hint' }),
    )
    expect(() => readOwnFile(path, 0o004, 'hint')).toThrow(/with mode 644/)
  })
})

it('the name of a file is on the disk when it was written, and its removal when it was removed', () => {
  const real = fs.fsyncSync
  const synced: string[] = []
  fs.fsyncSync = (file) => {
    synced.push(fs.readlinkSync(`/proc/self/fd/${file}`))
    real(file)
  }
  syncBuiltinESMExports()
  onTestFinished(() => {
    fs.fsyncSync = real
    syncBuiltinESMExports()
  })
  writePrivateFile(path, 'x')
  expect(synced.at(-1)).toBe(join(folder.path, 'own'))
  synced.length = 0
  removePrivateFile(path)
  expect(synced).toEqual([join(folder.path, 'own')])
})
