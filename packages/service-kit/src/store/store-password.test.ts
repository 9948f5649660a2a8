import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { explain, withStorePassword } from './store-password.ts'

describe('the password of a store', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'password-'))
  })
  afterEach(() => {
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
    const refusal = Object.assign(new Error('permission denied'), { code: 'EACCES' })
    const [own, { uid }] = [process.getuid!(), statSync(path)]
    expect(explain(path, refusal)).toBe(
      `this program runs as user ${own}, which may not read it. It belongs to user ${uid} (mode 0400). Give it to this user: chown ${own}, chmod 0400`,
    )
    // It was removed meanwhile.
    rmSync(path)
    expect(explain(path, refusal)).toContain('which may not read it. Give it')
  })
})
