import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createConfirm } from '../context/confirm.ts'
import { UsageError } from '../failure.ts'
import { createSignIns, type Login, type SignIns } from './sign-ins.ts'

let folder: string
let signIns: SignIns
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-'))
  signIns = createSignIns(folder)
})
afterEach(() => rmSync(folder, { recursive: true }))

const loginAt = (identityUrl: string): Login => ({
  identityUrl,
  clientId: 'c',
  scope: 'openid',
  refreshToken: 'r',
  idToken: 'i',
  idTokenEndsAt: 1,
})
const home = 'https://id.example'
const work = 'https://id.work.example'

/** Path of the only file. */
function pathOf(): string {
  const [name, ...others] = readdirSync(join(folder, 'sign-ins'))
  expect(others).toEqual([])
  return join(folder, 'sign-ins', name!)
}
const put = (path: string, content: string) => writeFileSync(path, content, { mode: 0o600 })
function problemOf(work: () => unknown): UsageError {
  try {
    work()
  } catch (cause) {
    if (cause instanceof UsageError) return cause
  }
  throw new Error('it was not refused')
}

it('a sign-in is read as it was written, with the number of its format in the file', () => {
  signIns.write(loginAt(home))
  expect(signIns.read(home)).toEqual(loginAt(home))
  expect(JSON.parse(readFileSync(pathOf(), 'utf8'))).toEqual({ format: 1, ...loginAt(home) })
})

it('a file from before there were formats is read, and gets one with the next change', () => {
  signIns.write(loginAt(home))
  put(pathOf(), JSON.stringify(loginAt(home)))
  expect(signIns.read(home)).toEqual(loginAt(home))
  signIns.write(loginAt(home))
  expect(JSON.parse(readFileSync(pathOf(), 'utf8')).format).toBe(1)
})

describe('a file of a later version', () => {
  it('is refused, and stays as it is, whatever is done', () => {
    signIns.write(loginAt(home))
    const later = `{"format":2,"sealed":"something that this version cannot know"}`
    put(pathOf(), later)
    for (const act of [() => signIns.read(home), () => signIns.write(loginAt(home))]) {
      const { message, hint } = problemOf(act)
      expect(message).toMatch(
        /sign-ins\/.*\.json was written by a later version of selvedge \(format 2; this version reads format 1\)/,
      )
      expect(hint).toContain('XDG_CONFIG_HOME')
    }
    expect(signIns.list()).toMatchObject({ urls: [], problems: [{ name: 'UsageError' }] })
    expect(readFileSync(pathOf(), 'utf8')).toBe(later)
  })

  it('of confirmed addresses is refused as well, before anything is asked', async () => {
    const path = join(folder, 'confirmed.json')
    put(path, '{"format":7}')
    const terminal = {
      out: () => undefined,
      note: () => undefined,
      redraw: () => undefined,
      isWatched: true,
      isInteractive: true,
      ask: async () => true,
    }
    const address = { key: 'identity x', shown: 'It is x.', hint: '' }
    await expect(createConfirm(folder, terminal)(address)).rejects.toThrow('format 7')
    expect(readFileSync(path, 'utf8')).toBe('{"format":7}')
    put(path, '["identity x"]')
    await createConfirm(folder, terminal)(address)
  })
})

describe('a damaged file', () => {
  it.each([
    ['cut off', (text: string) => text.slice(0, -20)],
    ['empty', () => ''],
    ['of something else', () => '[]'],
    ['without a member', (text: string) => text.replace('"refreshToken"', '"other"')],
    ['with a format that is no number', (text: string) => text.replace('"format":1', '"format":"x"')],
    [
      'with an end that is no number',
      (text: string) => text.replace('"idTokenEndsAt":1', '"idTokenEndsAt":"1"'),
    ],
    ['of another service', (text: string) => text.replace(home, work)],
  ])('%s is refused with a hint, and is not changed', (_, damage) => {
    signIns.write(loginAt(home))
    const damaged = damage(readFileSync(pathOf(), 'utf8'))
    put(pathOf(), damaged)
    const { message, hint } = problemOf(() => signIns.read(home))
    expect(message).toBe(`${pathOf()} is damaged`)
    expect(hint).toBe('Remove it and sign in again: selvedge login')
    expect(readFileSync(pathOf(), 'utf8')).toBe(damaged)
  })

  it('removes no other sign-in', () => {
    signIns.write(loginAt(home))
    const path = pathOf()
    signIns.write(loginAt(work))
    put(path, '{')
    expect(signIns.read(work)).toEqual(loginAt(work))
    expect(signIns.list()).toMatchObject({ urls: [work], problems: [{ message: `${path} is damaged` }] })
    signIns.remove(work)
    signIns.write(loginAt(work))
    expect(readFileSync(path, 'utf8')).toBe('{')
  })

  it('that others can read is not used, and the others are', () => {
    signIns.write(loginAt(home))
    chmodSync(pathOf(), 0o644)
    signIns.write(loginAt(work))
    expect(signIns.list()).toMatchObject({ urls: [work], problems: [{ name: 'UsageError' }] })
    mkdirSync(join(folder, 'sign-ins', 'x'))
    expect(signIns.list().urls).toEqual([work])
  })
})

it('one of an address that is no service is named as a problem', () => {
  signIns.write(loginAt(home))
  put(pathOf(), JSON.stringify(loginAt('ftp://id.example')))
  expect(signIns.list()).toMatchObject({
    urls: [],
    problems: [{ message: expect.stringContaining(`"identityUrl" in ${pathOf()}`) }],
  })
})

it('files of other names are ignored, and a removed sign-in is gone', () => {
  expect(signIns.list()).toEqual({ urls: [], problems: [] })
  signIns.write(loginAt(home))
  const name = basename(pathOf())
  for (const other of [`x${name}`, `${name}~`, 'notes']) put(join(folder, 'sign-ins', other), '{')
  expect(signIns.list()).toEqual({ urls: [home], problems: [] })
  signIns.remove(home)
  expect(signIns.list()).toEqual({ urls: [], problems: [] })
  expect(signIns.read(home)).toBeUndefined()
})
