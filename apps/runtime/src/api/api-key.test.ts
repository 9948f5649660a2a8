/** Which calls need the API key of the runtime, and what a refusal contains. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Method } from '@selvedge/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../tests/harness/processes.ts'
import { type ApiKey, openApiKey } from './api-key.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let path: string
beforeEach(async () => {
  folder = await temporaryFolder()
  path = join(folder.path, 'api-key')
})
afterEach(() => folder.remove())

function refusalOf(key: ApiKey, authorization: string | undefined): string {
  try {
    key.expect(authorization, 'updateGps')
    return ''
  } catch (cause) {
    const { reason, message } = cause as { reason: string; message: string }
    return `${reason}: ${message}`
  }
}

describe('the file of the key', () => {
  it('is made once, with 32 random bytes, for its user alone', async () => {
    await openApiKey(path)
    const made = readFileSync(path, 'utf8')
    expect(made).toMatch(/^[\w-]{43}\n$/)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(refusalOf(await openApiKey(path), `Bearer ${made.trim()}`)).toBe('')
    expect(readFileSync(path, 'utf8')).toBe(made)
  })

  it('may hold a key of 16 characters, and space around it', async () => {
    writeFileSync(path, `  ${'k'.repeat(16)} \n`)
    expect(refusalOf(await openApiKey(path), `Bearer ${'k'.repeat(16)}`)).toBe('')
  })

  it('is refused with a shorter key', async () => {
    writeFileSync(path, `${'k'.repeat(15)}     \n`)
    await expect(openApiKey(path)).rejects.toMatchObject({
      message: `the API key in ${path} is shorter than 16 characters; remove the file to get a new one`,
      isUnrepairable: true,
    })
  })

  it('that cannot be read is named', async () => {
    const opened = openApiKey(folder.path)
    await expect(opened).rejects.toThrow(`can't read or store the API key in ${folder.path}: EISDIR`)
    await expect(opened).rejects.toMatchObject({ name: 'StoreError', cause: { code: 'EISDIR' } })
  })
})

describe('a call', () => {
  const key = 'k'.repeat(43)
  let opened: ApiKey
  beforeEach(async () => {
    writeFileSync(path, key)
    opened = await openApiKey(path)
  })

  it.each([`Bearer ${key}`, `bearer ${key}`, `Bearer   ${key}`])('shows the key with %j', (authorization) => {
    expect(refusalOf(opened, authorization)).toBe('')
  })

  it.each([undefined, '', 'Bearer ', `Basic ${key}`, `xBearer ${key}`, `Bearer ${key} x`, key])(
    'has no key with %j',
    (authorization) => {
      expect(refusalOf(opened, authorization)).toBe(
        'api_key_invalid: updateGps needs the API key, and the request has no API key',
      )
    },
  )

  it.each(['x', key.slice(1), `${key}k`, 'K'.repeat(43)])('has the wrong key with %j', (given) => {
    expect(refusalOf(opened, `Bearer ${given}`)).toBe('api_key_invalid: the API key is wrong')
  })

  it('with a token of another kind hears which one it is', () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const token = `${part({ alg: 'ES256', typ: 'at+jwt' })}.${part({})}.c2ln`
    expect(refusalOf(opened, `Bearer ${token}`)).toMatch(
      /^api_key_invalid: this is an? .*access token.*; the Authorization header of updateGps needs the API key of the runtime$/,
    )
  })
})

describe('a method', () => {
  const method = (access: object): Method => ({ name: 'getMe', access }) as unknown as Method
  const admit = async (access: object) => {
    const opened = await openApiKey(path)
    return () => opened.admit(method(access), { authorization: undefined })
  }

  it('for anyone needs no key', async () => {
    expect(await admit({ caller: 'anyone', withoutApiKey: true })).not.toThrow()
  })

  it.each([
    { caller: 'anyone', withoutApiKey: false },
    { caller: 'token', withoutApiKey: true },
  ])('with the access %j needs the key', async (access) => {
    expect(await admit(access)).toThrow('getMe needs the API key')
  })
})
