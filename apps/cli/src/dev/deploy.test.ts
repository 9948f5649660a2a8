import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RpcFailure } from '@selvedge/client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Context } from '../context/context.ts'
import { createTokens } from './deploy.ts'

describe('the access token of dev', () => {
  let folder: string
  let file: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'selvedge-tokens-'))
    file = join(folder, 'token')
    writeFileSync(file, 'first')
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const tokens = () => createTokens({ env: {} } as Context, { tokenFile: file })
  const data = { reason: 'token_expired', detail: '', hint: '', retryable: false } as const
  const expired = new RpcFailure({ code: -32001, message: 'the token expired', data })
  const accept = (valid: string) => async (token: string) => {
    if (token !== valid) throw expired
    return token
  }

  it('is requested once while it is valid', async () => {
    const own = tokens()
    expect(await own.use(accept('first'))).toBe('first')
    writeFileSync(file, 'second')
    expect(await own.use(accept('first'))).toBe('first')
  })

  it('is requested again when it has expired, and the call is repeated', async () => {
    const own = tokens()
    await own.use(accept('first'))
    writeFileSync(file, 'second')
    expect(await own.use(accept('second'))).toBe('second')
    expect(await own.use(accept('second'))).toBe('second')
  })

  it('that was refused at once is not requested again in the same call, but in the next', async () => {
    const own = tokens()
    let calls = 0
    const refuse = () => {
      calls++
      return Promise.reject(expired)
    }
    await expect(own.use(refuse)).rejects.toBe(expired)
    expect(calls).toBe(1)
    writeFileSync(file, 'second')
    expect(await own.use(accept('second'))).toBe('second')
  })

  it('stays when a call fails for another reason', async () => {
    const own = tokens()
    await own.use(accept('first'))
    writeFileSync(file, 'second')
    const fail = () => Promise.reject(new Error('no connection'))
    await expect(own.use(fail)).rejects.toThrow('no connection')
    expect(await own.use(accept('first'))).toBe('first')
  })
})
