import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Fetch } from '@selvedge/client'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Terminal } from '../output/terminal.ts'
import { configFolder, readPrivateFile, writePrivateFile } from './config-folder.ts'
import { confirming, createConfirm } from './confirm.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** A terminal on which a person gives these answers, in their order; without any, there is no terminal. */
function terminalWith(...answers: boolean[]) {
  const questions: string[] = []
  const terminal: Terminal = {
    out: () => undefined,
    note: () => undefined,
    redraw: () => undefined,
    isWatched: answers.length > 0,
    isInteractive: answers.length > 0,
    async ask(question) {
      questions.push(question)
      return answers.shift()
    },
  }
  return { terminal, questions }
}

const address = { key: 'identity https://id.example', shown: 'It is id.example.', hint: '--identity-url x' }

describe('an address that the user did not name', () => {
  it('is shown and asked for once; the answer is in a file of the user', async () => {
    const { terminal, questions } = terminalWith(true)
    const own = join(folder, 'selvedge')
    await createConfirm(own, terminal)(address)
    await createConfirm(own, terminal)(address)
    expect(questions).toEqual([expect.stringContaining('It is id.example.')])
    const { addresses } = JSON.parse(readFileSync(join(own, 'confirmed.json'), 'utf8'))
    expect(addresses).toEqual([address.key])
    expect(statSync(own).mode & 0o777).toBe(0o700)
    expect(statSync(join(own, 'confirmed.json')).mode & 0o777).toBe(0o600)
  })

  it('is asked for again after a no, and is another one in another role', async () => {
    const { terminal, questions } = terminalWith(false, true)
    const confirm = createConfirm(folder, terminal)
    await expect(confirm(address)).rejects.toThrow('No credential was sent: the address is not confirmed.')
    await confirm(address)
    await expect(confirm({ ...address, key: 'runtime https://id.example' })).rejects.toThrow('no terminal')
    expect(questions).toHaveLength(3)
  })

  it('is refused without a terminal, with the option that names it', async () => {
    const refusal = createConfirm(folder, terminalWith().terminal)(address)
    await expect(refusal).rejects.toMatchObject({ hint: '--identity-url x' })
  })

  it.each(['{', '{}', '[1]', '["a", 1]'])('is refused where the file of answers holds %s', async (text) => {
    writeFileSync(join(folder, 'confirmed.json'), text, { mode: 0o600 })
    await expect(createConfirm(folder, terminalWith(true).terminal)(address)).rejects.toThrow('is damaged')
  })
})

describe('a request to such an address', () => {
  const send = async (init: Partial<Parameters<Fetch>[1]>) => {
    let asked = 0
    const fetch: Fetch = async () => ({ status: 200, headers: { get: () => null }, text: async () => '' })
    const guarded = confirming(fetch, async () => void asked++)
    const signal = AbortSignal.timeout(1000)
    await guarded('http://x', { method: 'POST', headers: {}, signal, redirect: 'error', ...init })
    return asked
  }
  const call = (more: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getMe', ...more })

  it.each([
    [{}, 0],
    [{ body: call({}) }, 0],
    [{ body: call({ params: [] }) }, 0],
    [{ body: call({ params: [''] }) }, 1],
    [{ body: call({ params: { edgeAccessToken: 'x' } }) }, 1],
    [{ body: call({ more: 'x' }) }, 1],
    [{ body: `[${call({})}]` }, 1],
    [{ body: 'client_id=x' }, 1],
    [{ body: '' }, 1],
    [{ headers: { Authorization: 'Bearer x' } }, 1],
    [{ headers: { DPoP: 'x' } }, 1],
    [{ headers: { 'X-Accept': 'x' } }, 1],
    [{ headers: { 'Accept-X': 'x' } }, 1],
    [{ headers: { accept: '*/*' } }, 0],
    [{ headers: { 'Content-Type': 'application/json' } }, 0],
  ])('%j leads to %d questions', async (init, times) => {
    expect(await send(init)).toBe(times)
  })
})

describe('the time limit of a request', () => {
  it.each([
    [1000, true],
    [1001, false],
  ])('after %d ms of a question is its own: %s', async (ms, isOwn) => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    // A monotonic clock is not at zero.
    vi.advanceTimersByTime(50_000)
    const { signal } = new AbortController()
    let sent: Parameters<Fetch>[1] | undefined
    const fetch: Fetch = async (_, init) => {
      sent = init
      return { status: 200, headers: { get: () => null }, text: async () => '' }
    }
    const init = { method: 'POST', headers: { DPoP: 'x' }, signal, redirect: 'error' } as const
    await confirming(fetch, async () => void vi.advanceTimersByTime(ms))('http://x', init)
    expect(sent).toMatchObject({ method: 'POST', headers: { DPoP: 'x' }, redirect: 'error' })
    expect(sent?.signal === signal).toBe(isOwn)
    expect(sent?.signal?.aborted).toBe(false)
  })
})

describe('a file that only its user may read', () => {
  const path = () => join(folder, 'selvedge/sign-ins/x.json')

  it('is written whole, with nothing beside it', () => {
    for (const content of ['one', 'two', 'three']) {
      writePrivateFile(path(), content)
      expect(readPrivateFile(path())).toBe(content)
    }
    expect(readdirSync(join(folder, 'selvedge/sign-ins'))).toEqual(['x.json'])
    expect(statSync(path()).mode & 0o777).toBe(0o600)
    expect(statSync(join(folder, 'selvedge')).mode & 0o777).toBe(0o700)
  })

  it('stays as it was when it cannot be replaced', () => {
    writePrivateFile(path(), 'one')
    expect(() => writePrivateFile(join(path(), 'below'), 'two')).toThrow()
    mkdirSync(join(folder, 'selvedge/sign-ins/folder.json'))
    expect(() => writePrivateFile(join(folder, 'selvedge/sign-ins/folder.json'), 'two')).toThrow()
    expect(readdirSync(join(folder, 'selvedge/sign-ins')).sort()).toEqual(['folder.json', 'x.json'])
    expect(readPrivateFile(path())).toBe('one')
  })

  it('replaces a symbolic link, and does not follow it', () => {
    writePrivateFile(path(), 'one')
    rmSync(path())
    writeFileSync(join(folder, 'victim'), 'of the user')
    symlinkSync(join(folder, 'victim'), path())
    expect(() => readPrivateFile(path())).toThrow('is a symbolic link')
    writePrivateFile(path(), 'two')
    expect(readFileSync(join(folder, 'victim'), 'utf8')).toBe('of the user')
    expect(readPrivateFile(path())).toBe('two')
  })

  it('is not written to a folder that others can write to', () => {
    mkdirSync(join(folder, 'open'))
    chmodSync(join(folder, 'open'), 0o777)
    expect(() => writePrivateFile(join(folder, 'open/x'), 'one')).toThrow('it must be yours alone')
    expect(readdirSync(join(folder, 'open'))).toEqual([])
  })

  it('is in the folder that the XDG specification names', () => {
    expect(configFolder({ HOME: '/home/ann' })).toBe('/home/ann/.config/selvedge')
    expect(configFolder({ HOME: '/home/ann', XDG_CONFIG_HOME: '/etc/x' })).toBe('/etc/x/selvedge')
    expect(configFolder({ HOME: '/home/ann', XDG_CONFIG_HOME: './x' })).toBe('/home/ann/.config/selvedge')
  })
})
