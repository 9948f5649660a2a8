import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { keyOf, type Owner } from '../deployments/ownership.ts'
import { expectRoom } from './room.ts'
import { openValue, sealValue } from './seal.ts'
import { openSecretKey } from './secret-key.ts'
import { openSecrets, type Secrets } from './secrets.ts'
import { openStoredSecrets, type StoredSecrets } from './stored-secrets.ts'

const owner: Owner = { account_id: 'a', client_id: 'c' }
const owned = { accountId: 'a', clientId: 'c' }
const value = Buffer.from('correct horse battery staple')
const used = (name: string) => [{ name, file: undefined }]

let folder: string
let secrets: Secrets
const clock = createFakeClock()
const reopen = async () => {
  await secrets.close()
  secrets = await openSecrets(folder, clock)
}
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'secrets-'))
  secrets = await openSecrets(folder, clock)
})
afterEach(async () => {
  await secrets.close()
  rmSync(folder, { recursive: true })
})
const files = () => readdirSync(folder).toSorted()
const keyPath = () => join(folder, 'secrets-key.json')

describe('a secret', () => {
  it('is given to services of its project, under its own file name or another one', async () => {
    await secrets.set(owner, 'db', value)
    expect(secrets.open(owned, used('db'))).toEqual([{ name: 'db', file: 'db', value }])
    expect(secrets.open(owned, [{ name: 'db', file: 'password' }])).toEqual([
      { name: 'db', file: 'password', value },
    ])
    await reopen()
    expect(secrets.open(owned, used('db'))[0]?.value).toEqual(value)
    expect(secrets.notices).toEqual([])
  })

  it('is shown without its value', async () => {
    const shown = await secrets.set(owner, 'db', value)
    expect(shown).toEqual({ name: 'db', size: 28, updated: expect.any(String), damaged: false })
    await secrets.set(owner, 'api', Buffer.from('x'))
    expect(secrets.list(owner).map(({ name }) => name)).toEqual(['api', 'db'])
    expect(JSON.stringify(secrets.list(owner))).not.toContain('horse')
  })

  it('has a version that differs with its value, name, owner and device, and stays after a restart', async () => {
    const of = (text: string, name = 'db', by = owner) => secrets.versionOf(by, name, Buffer.from(text))
    const one = await of('one')
    expect(one).toMatch(/^[0-9a-f]{64}$/)
    const other = { ...owner, client_id: 'd' }
    const others = [await of('two'), await of('one', 'd'), await of('one', 'db', other), await of('')]
    expect(new Set([one, ...others]).size).toBe(5)
    await reopen()
    expect(await of('one')).toBe(one)
    rmSync(keyPath())
    await reopen()
    expect(await of('one')).not.toBe(one)
  })

  it('is in no file of the disk, in clear or as base64', async () => {
    await secrets.set(owner, 'db', value)
    await reopen()
    for (const each of files()) {
      const content = readFileSync(join(folder, each))
      for (const form of [value.toString(), value.toString('base64url'), value.toString('hex')])
        expect(content.includes(form)).toBe(false)
      expect(statSync(join(folder, each)).mode & 0o077).toBe(0)
    }
  })

  it('is replaced as a whole, and removed', async () => {
    await secrets.set(owner, 'db', value)
    await secrets.set(owner, 'db', Buffer.from('new'))
    expect(secrets.open(owned, used('db'))[0]?.value.toString()).toBe('new')
    expect(await secrets.remove(owner, 'db', () => undefined)).toEqual({ name: 'db' })
    expect(secrets.list(owner)).toEqual([])
    await reopen()
    expect(() => secrets.expectSet(owned, used('db'))).toThrow('the secret "db" of the project is not set')
  })

  it('stays while something uses it', async () => {
    await secrets.set(owner, 'db', value)
    const inUse = () => {
      throw new Error('in use')
    }
    await expect(secrets.remove(owner, 'db', inUse)).rejects.toThrow('in use')
    expect(secrets.list(owner)).toHaveLength(1)
  })

  it('that is not set is named, with the command that sets it', async () => {
    await secrets.set(owner, 'db', value)
    expect(() => secrets.expectSet(owned, [...used('db'), ...used('other')])).toThrow(
      expect.objectContaining({ reason: 'not_found', hint: 'Set it: selvedge secret set other' }),
    )
    expect(() => secrets.expectSet(owned, used('db'))).not.toThrow()
    await expect(secrets.remove(owner, 'other', () => undefined)).rejects.toMatchObject({
      reason: 'not_found',
    })
  })

  it('has at least one byte', async () => {
    await expect(secrets.set(owner, 'db', Buffer.alloc(0))).rejects.toMatchObject({
      reason: 'invalid_params',
    })
    expect(files()).not.toContain('secrets-key.json')
  })

  it.each(['__proto__', 'constructor', 'toString'])('with the name %s is one as any other', async (name) => {
    expect(() => secrets.expectSet(owned, used(name))).toThrow('is not set')
    await secrets.set(owner, name, value)
    await reopen()
    expect(secrets.open(owned, used(name))[0]?.value).toEqual(value)
  })
})

describe.each<[string, Owner]>([
  ['another account with the same project', { account_id: 'b', client_id: 'c' }],
  ['another project of the account', { account_id: 'a', client_id: 'd' }],
  ['an account with an ID that begins alike', { account_id: 'a/c', client_id: '' }],
])('%s', (_, other) => {
  it('neither sees, gets, changes nor removes a secret', async () => {
    await secrets.set(owner, 'db', value)
    const of = { accountId: other.account_id, clientId: other.client_id }
    for (const name of ['db', 'c/db', '../c/db', 'a/c/db', 'c-db'])
      expect(() => secrets.open(of, used(name))).toThrow('is not set')
    expect(secrets.list(other)).toEqual([])
    await expect(secrets.remove(other, 'db', () => undefined)).rejects.toMatchObject({ reason: 'not_found' })
    await secrets.set(other, 'db', Buffer.from('of the other'))
    expect(secrets.open(owned, used('db'))[0]?.value).toEqual(value)
  })
})

it('those of an account that leaves are removed, and no others', async () => {
  await secrets.set(owner, 'db', value)
  await secrets.set({ account_id: 'ab', client_id: 'c' }, 'db', value)
  await secrets.forget('a')
  expect(secrets.list(owner)).toEqual([])
  expect(secrets.list({ account_id: 'ab', client_id: 'c' })).toHaveLength(1)
})

describe('damage', () => {
  beforeEach(() => secrets.set(owner, 'db', value))

  it.each<[string, (content: string) => string]>([
    ['a changed key', (content) => content.replace(/(?<="key":".)./, (each) => (each === 'A' ? 'B' : 'A'))],
    [
      'a changed check',
      (content) => content.replace(/(?<="check":".)./, (each) => (each === 'a' ? 'b' : 'a')),
    ],
    ['an empty file', () => ''],
    ['half a file', (content) => content.slice(0, 40)],
    ['another member', (content) => content.replace('{', '{"more":1,')],
  ])('of the key is noticed, and the key is set aside: %s', async (_, change) => {
    writeFileSync(keyPath(), change(readFileSync(keyPath(), 'utf8')))
    await reopen()
    expect(secrets.notices).toEqual([
      { kind: 'reset', detail: expect.stringMatching(/^1 of 1 secrets .* set aside as .*\.damaged-/) },
    ])
    expect(secrets.list(owner)).toMatchObject([{ name: 'db', damaged: true }])
    expect(() => secrets.open(owned, used('db'))).toThrow('cannot be decrypted')
    await secrets.set(owner, 'db', value)
    await reopen()
    expect(secrets.notices).toEqual([])
    expect(secrets.open(owned, used('db'))[0]?.value).toEqual(value)
  })

  it('is noticed if the key is missing', async () => {
    rmSync(keyPath())
    await reopen()
    expect(secrets.notices).toHaveLength(1)
    expect(secrets.list(owner)).toMatchObject([{ damaged: true }])
  })

  it('of the document is noticed', async () => {
    for (const slot of ['a', 'b']) writeFileSync(join(folder, `secrets.${slot}`), 'x')
    await reopen()
    expect(secrets.notices).toMatchObject([{ kind: 'reset' }])
    expect(secrets.list(owner)).toEqual([])
  })

  it('by a value that was moved to another name is noticed', async () => {
    await secrets.set(owner, 'other', Buffer.from('of the other'))
    await secrets.close()
    const store = await openStoredSecrets(folder)
    await store.update((all) => {
      const [one, two] = [keyOf(owner, 'db'), keyOf(owner, 'other')]
      return { [one]: { ...all[one]!, sealed: all[two]!.sealed }, [two]: all[two]! }
    })
    await store.close()
    secrets = await openSecrets(folder, clock)
    expect(secrets.notices).toMatchObject([{ detail: expect.stringContaining('1 of 2 secrets') }])
    expect(() => secrets.open(owned, used('db'))).toThrow('cannot be decrypted')
  })
})

it('a device without secrets has no key, and one key from the first secret on', async () => {
  expect(files()).not.toContain('secrets-key.json')
  await Promise.all([secrets.set(owner, 'one', value), secrets.set(owner, 'two', value)])
  const key = readFileSync(keyPath())
  await secrets.set(owner, 'three', value)
  await reopen()
  expect(readFileSync(keyPath())).toEqual(key)
  for (const name of ['one', 'two', 'three']) expect(() => secrets.open(owned, used(name))).not.toThrow()
})

describe('an encrypted value', () => {
  const key = Buffer.alloc(32, 7)
  it('opens with its key and its name, and has another form each time', () => {
    const sealed = sealValue(key, 'a', value)
    expect(openValue(key, 'a', sealed)).toEqual(value)
    expect(sealValue(key, 'a', value)).not.toBe(sealed)
    expect(openValue(key, 'a', sealValue(key, 'a', Buffer.alloc(0)))).toEqual(Buffer.alloc(0))
  })

  it('does not open otherwise', () => {
    const sealed = sealValue(key, 'a', value)
    const bytes = Buffer.from(sealed, 'base64url')
    expect(openValue(key, 'b', sealed)).toBeUndefined()
    expect(openValue(Buffer.alloc(32, 8), 'a', sealed)).toBeUndefined()
    for (const at of [0, 11, 12, 30, bytes.length - 1]) {
      const changed = Buffer.from(bytes)
      changed[at]! ^= 1
      expect(openValue(key, 'a', changed.toString('base64url'))).toBeUndefined()
    }
    for (const length of [0, 1, 27, 28, bytes.length - 1])
      expect(openValue(key, 'a', bytes.subarray(0, length).toString('base64url'))).toBeUndefined()
    expect(openValue(key, 'a', 'not base64 at all!')).toBeUndefined()
  })
})

it('a key file with a key of another length is damaged', async () => {
  writeFileSync(keyPath(), JSON.stringify({ key: 'AAAA', check: '' }))
  const { aside, key } = await openSecretKey(keyPath())
  expect(key).toHaveLength(32)
  expect(readFileSync(aside!, 'utf8')).toContain('AAAA')
})

describe('the room for secrets', () => {
  const stored = (count: number, of: Owner, size = 1): StoredSecrets =>
    Object.fromEntries(
      Array.from({ length: count }, (_, at) => [
        keyOf(of, `s${at}`),
        { accountId: of.account_id, clientId: of.client_id, name: `s${at}`, size, updated: 0, sealed: '' },
      ]),
    )
  const other: Owner = { account_id: 'a', client_id: 'd' }
  const expectNew = (all: StoredSecrets, size = 1) =>
    expect(() => expectRoom(all, owner, keyOf(owner, 'new'), size))

  it('is 100 for a project, and less where others use more than half of it', () => {
    expectNew(stored(99, owner)).not.toThrow()
    expectNew(stored(100, owner)).toThrow(
      '101 secrets; at present its limit is 100 (that of the device is 400)',
    )
    expectNew({ ...stored(9, owner), ...stored(380, other) }).not.toThrow()
    expectNew({ ...stored(10, owner), ...stored(380, other) }).toThrow(
      '11 secrets; at present its limit is 10',
    )
  })

  it('is 64 KiB for a value, and 1 MiB for a project', () => {
    expectNew({}, 65_536).not.toThrow()
    expectNew({}, 65_537).toThrow('the value has 65537 bytes; the limit is 65536')
    expectNew(stored(15, owner, 65_536), 65_536).not.toThrow()
    expectNew(stored(16, owner, 65_536), 1).toThrow('1048577 bytes of secrets')
    expectNew(stored(62, other, 65_536), 65_536).not.toThrow()
    expectNew(stored(63, other, 65_536), 65_536).toThrow('at present its limit is 32768')
  })

  it('does not count the value that is replaced', () => {
    const full = stored(100, owner)
    expect(() => expectRoom(full, owner, keyOf(owner, 's0'), 65_536)).not.toThrow()
  })

  it('is checked again when the change is made', async () => {
    const all = Array.from({ length: 120 }, (_, at) => secrets.set(owner, `s${at}`, value))
    const results = await Promise.allSettled(all)
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(100)
    expect(secrets.list(owner)).toHaveLength(100)
  })
})
