import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { withStorePassword } from './store-password.ts'

/** Called before each read, which then is refused. */
let refuseRead: (() => void) | undefined
vi.mock(import('node:fs'), async (load) => {
  const fs = await load()
  const readFileSync = (...given: Parameters<typeof fs.readFileSync>) => {
    if (!refuseRead) return fs.readFileSync(...given)
    refuseRead()
    throw Object.assign(new Error('permission denied'), { code: 'EACCES' })
  }
  return { ...fs, readFileSync: readFileSync as typeof fs.readFileSync }
})

describe('the password of a store', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'password-'))
  })
  afterEach(() => {
    refuseRead = undefined
    rmSync(folder, { recursive: true })
  })
  const store = 'postgres://selvedge@database/selvedge?sslmode=require'
  const file = (content: string) => {
    const path = join(folder, 'password')
    writeFileSync(path, content, { mode: 0o400 })
    return path
  }

  it('is that of the file, whatever characters it has', () => {
    for (const password of ['plain', 'p@ss/w:rd?#% %41', 'ü ✓', ' spaces ', 'x'.repeat(1023)]) {
      const url = withStorePassword(store, file(`${password}\n`))
      expect(decodeURIComponent(new URL(url).password)).toBe(password)
      expect(new URL(url).search).toBe('?sslmode=require')
      expect(new URL(url).host).toBe('database')
      rmSync(join(folder, 'password'))
    }
  })
  it('is not needed', () => expect(withStorePassword(store, '')).toBe(store))
  it.each([
    ['', 'has no password'],
    ['\n', 'has no password'],
    ['one\ntwo\n', 'has more than one line'],
    ['one\ntwo', 'has more than one line'],
    ['x'.repeat(1025), 'it has 1025 bytes'],
  ])('is refused where the file has %j', (content, message) =>
    expect(() => withStorePassword(store, file(content))).toThrow(message),
  )
  it('is refused where the file is missing, or a folder', () => {
    expect(() => withStorePassword(store, join(folder, 'missing'))).toThrow('no such file')
    mkdirSync(join(folder, 'made'))
    expect(() => withStorePassword(store, join(folder, 'made'))).toThrow('it is not a file')
  })
  it.each(['', 'sqlite:/x.db', 'postgres://database/selvedge', 'nonsense', 'mysql://u@h/d'])(
    'is refused for the store %j',
    (other) =>
      expect(() => withStorePassword(other, file('x'))).toThrow('is not postgres://user@host/database'),
  )
  it('is refused where the URL has one as well, without showing either', () => {
    const both = () => withStorePassword('postgres://u:first@h/d', file('second'))
    expect(both).toThrow('both "store" and storePasswordFile have a password')
    expect(both).not.toThrow(/first|second/)
  })
  it('names the owner of a file that this user may not read', () => {
    const path = file('secret')
    const { uid } = statSync(path)
    refuseRead = () => undefined
    const own = process.getuid!()
    expect(() => withStorePassword(store, path)).toThrow(
      `${path}: this program runs as user ${own}, which may not read it. It belongs to user ${uid} (mode 0400). Give it to this user: chown ${own}, chmod 0400`,
    )
    // It was removed meanwhile.
    refuseRead = () => rmSync(path)
    expect(() => withStorePassword(store, path)).toThrow('which may not read it. Give it')
  })
})
