/** Secrets in the store give nothing away without the key, and can't be moved or changed. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError } from '@selvedge/service-kit/config'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createSeal, keysVariable, readSealKeys } from './seal.ts'

const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]

describe('a sealed secret', () => {
  const sealed = createSeal([one]).close('the secret', 'key 1')
  it('opens with its key and for its purpose', () => {
    expect(createSeal([one]).open(sealed, 'key 1')).toBe('the secret')
    expect(sealed).not.toContain('secret')
    expect(createSeal([one]).close('the secret', 'key 1')).not.toBe(sealed)
  })
  it('is recognized by its first characters', () => {
    const { isSealed } = createSeal([one])
    expect(sealed).toMatch(/^v1\.[\w-]+$/)
    expect([sealed, 'v1.', 'xv1.', 'secret'].map(isSealed)).toEqual([true, true, false, false])
  })
  it('may have any characters', () => {
    const seal = createSeal([one])
    expect(seal.open(seal.close('über €', 'x'), 'x')).toBe('über €')
    expect(seal.open(seal.close('', 'x'), 'x')).toBe('')
  })
  it('that does not open cannot be repaired', () => {
    expect(() => createSeal([two]).open(sealed, 'key 1')).toThrow(
      expect.objectContaining({ name: 'StoreError', isUnrepairable: true }),
    )
  })
  it('opens after a newer key was put before the old one', () =>
    expect(createSeal([two, one]).open(sealed, 'key 1')).toBe('the secret'))
  it.each([
    ['with another key', () => createSeal([two]).open(sealed, 'key 1')],
    ['in another place', () => createSeal([one]).open(sealed, 'key 2')],
    [
      'with a byte changed',
      () =>
        // In the middle: the last character has bits that say nothing.
        createSeal([one]).open(
          `${sealed.slice(0, 20)}${sealed[20] === 'A' ? 'B' : 'A'}${sealed.slice(21)}`,
          'key 1',
        ),
    ],
    ['cut short', () => createSeal([one]).open(sealed.slice(0, 20), 'key 1')],
  ])('does not open %s', (_, open) => expect(open).toThrow("can't be decrypted"))
})

describe('the keys', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'seal-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))
  const file = () => join(folder, 'identity', 'keys')

  it('are made once for a single machine, readable for their owner only', async () => {
    const made = await readSealKeys(file(), {}, true)
    expect(await readSealKeys(file(), {}, true)).toEqual(made)
    expect(statSync(file()).mode & 0o777).toBe(0o600)
  })
  it('are not made where replicas need the same ones', () =>
    expect(readSealKeys(file(), {}, false)).rejects.toThrow(/all replicas need the same one/))
  it('are not made beside replicas, nor is their folder, and the refusal has the command that makes one', async () => {
    const read = readSealKeys(file(), {}, false)
    await expect(read).rejects.toBeInstanceOf(ConfigError)
    await expect(read).rejects.toThrow(`in ${file()} or in SELVEDGE_IDENTITY_KEYS. Make one: openssl rand`)
    expect(readdirSync(folder)).toEqual([])
  })
  it('that cannot be read are named', async () => {
    const read = readSealKeys(folder, {}, true)
    await expect(read).rejects.toMatchObject({ name: 'StoreError', cause: { code: 'EISDIR' } })
    await expect(read).rejects.toThrow(
      `can't read or store the key that encrypts secrets, in ${folder}: EISDIR`,
    )
  })
  it('that are wrong are named by where they are from', async () => {
    const read = readSealKeys(file(), { SELVEDGE_IDENTITY_KEYS: 'x' }, true)
    await expect(read).rejects.toBeInstanceOf(ConfigError)
    await expect(read).rejects.toThrow(/^environment variable SELVEDGE_IDENTITY_KEYS holds no keys/)
  })
  it('may have white space around them', async () => {
    writeFileSync(join(folder, 'keys'), `\n${one.toString('base64url')}\r\n\n`)
    expect(await readSealKeys(join(folder, 'keys'), {}, false)).toEqual([one])
  })
  it('may come from the environment, one a line', async () => {
    const text = [two, one].map((key) => key.toString('base64url')).join('\n')
    expect(await readSealKeys(file(), { [keysVariable]: text }, false)).toEqual([two, one])
  })
  it.each(['', 'short', `${one.toString('base64url')}\nshort`])(
    'are refused where they are %j',
    async (text) => {
      writeFileSync(join(folder, 'bad'), text)
      await expect(readSealKeys(join(folder, 'bad'), {}, true)).rejects.toThrow('holds no keys')
      expect(readFileSync(join(folder, 'bad'), 'utf8')).toBe(text)
    },
  )
})
