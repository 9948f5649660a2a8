/** Where a device finds its join key, and that it remembers which ones it has used. */
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { findJoinKey } from './find-key.ts'
import { openGivenKey } from './given-key.ts'
import { openUsedKeys } from './used-keys.ts'

const key = `sj_${'k'.repeat(32)}`
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'join-key-'))
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true })
})
const path = () => join(folder, 'join-key')
const nothing = { given: '', value: '', file: '', credentials: undefined }

describe('a join key', () => {
  it('is the value of the setting, else in its file, else a credential of the unit', () => {
    const other = `sj_${'o'.repeat(32)}`
    writeFileSync(path(), `${other}\n`, { mode: 0o600 })
    expect(findJoinKey({ ...nothing, value: ` ${key}\n`, file: path(), credentials: folder })).toEqual({
      key,
    })
    expect(findJoinKey({ ...nothing, file: path(), credentials: folder })).toEqual({ key: other })
    expect(findJoinKey({ ...nothing, credentials: folder })).toEqual({ key: other, isCredential: true })
    expect(findJoinKey(nothing)).toBeUndefined()
  })

  it('is not there where the unit has only its fallback, an empty credential, or no credential', () => {
    for (const content of ['none\n', '', ' \n']) {
      writeFileSync(path(), content)
      expect(findJoinKey({ ...nothing, credentials: folder })).toBeUndefined()
    }
    rmSync(path())
    expect(findJoinKey({ ...nothing, credentials: folder })).toBeUndefined()
  })

  it.each(['sj_short', `xx_${'k'.repeat(32)}`, `${key}x`, `sj_${'ü'.repeat(32)}`, `${key}\n${key}`])(
    'is refused as %j, without the text in the message',
    (text) => {
      const problem = 'has no join key: sj_ and 32 characters'
      expect(findJoinKey({ ...nothing, value: text })).toEqual({ problem: `identity.joinKey ${problem}` })
      writeFileSync(path(), text, { mode: 0o600 })
      expect(findJoinKey({ ...nothing, file: path() })).toEqual({ problem: `${path()} ${problem}` })
      expect(findJoinKey({ ...nothing, credentials: folder })).toEqual({
        problem: `the credential join-key ${problem}`,
        isCredential: true,
      })
    },
  )

  it.each([0o640, 0o604, 0o620, 0o602, 0o610])('is refused in a file of mode %o', (mode) => {
    writeFileSync(path(), key)
    chmodSync(path(), mode)
    expect(findJoinKey({ ...nothing, file: path() })?.problem).toMatch('other users can reach it')
  })

  it('is refused in a file of another user, unless that is root', () => {
    writeFileSync(path(), key, { mode: 0o600 })
    const uid = process.getuid!()
    vi.spyOn(process, 'getuid').mockReturnValue(uid + 1)
    const expected = uid === 0 ? undefined : expect.stringMatching('it belongs to another user')
    expect(findJoinKey({ ...nothing, file: path() })?.problem).toEqual(expected)
    if (uid !== 0) return
    chownSync(path(), 4242, 4242)
    expect(findJoinKey({ ...nothing, file: path() })?.problem).toMatch('it belongs to another user')
  })

  it('is refused if it is missing or not a file', () => {
    mkdirSync(path())
    expect(findJoinKey({ ...nothing, file: path() })?.problem).toMatch('it is no file')
    expect(findJoinKey({ ...nothing, file: join(folder, 'missing') })?.problem).toMatch('ENOENT')
  })

  it('is read of no more than a kibibyte', () => {
    writeFileSync(path(), `${key}${' '.repeat(100_000)}x`, { mode: 0o600 })
    expect(findJoinKey({ ...nothing, file: path() })).toEqual({ key })
  })
})

describe('a join key that a person gave to the runtime', () => {
  it('is used before any other, until it is removed', async () => {
    const given = openGivenKey(folder)
    const sources = { ...nothing, given: given.path, value: key }
    expect(findJoinKey(sources)).toEqual({ key })
    const other = `sj_${'o'.repeat(32)}`
    await given.store(other)
    expect(findJoinKey(sources)).toEqual({ key: other })
    expect(statSync(given.path).mode & 0o777).toBe(0o600)
    await given.remove()
    await given.remove()
    expect(findJoinKey(sources)).toEqual({ key })
  })
})

describe('a used join key', () => {
  it('is known after a restart, and not written as it is', async () => {
    const used = await openUsedKeys(folder)
    expect(used.has(key)).toBe(false)
    await used.add(key, false)
    await used.add(key, false)
    expect([used.has(key), (await openUsedKeys(folder)).has(key)]).toEqual([true, true])
    const content = readFileSync(join(folder, 'join-keys-used.json'), 'utf8')
    expect(content).not.toContain(key)
    expect(JSON.parse(content).hashes).toHaveLength(1)
    expect(readdirSync(folder)).toEqual(['join-keys-used.json'])
  })

  it('of the unit leaves a mark for it', async () => {
    const used = await openUsedKeys(folder)
    await used.add(key, true)
    expect(readdirSync(folder).toSorted()).toEqual(['join-keys-used.json', 'joined'])
  })

  it('is forgotten after sixteen others, and where the file is damaged', async () => {
    const used = await openUsedKeys(folder)
    for (let at = 0; at <= 16; at++) await used.add(`key ${at}`, false)
    expect([used.has('key 0'), used.has('key 1'), used.has('key 16')]).toEqual([false, true, true])
    writeFileSync(join(folder, 'join-keys-used.json'), 'damaged')
    expect((await openUsedKeys(folder)).has('key 16')).toBe(false)
  })

  it('is no reason to go on where the file cannot be read', async () => {
    mkdirSync(join(folder, 'join-keys-used.json'))
    await expect(openUsedKeys(folder)).rejects.toMatchObject({ code: 'EISDIR' })
  })
})
