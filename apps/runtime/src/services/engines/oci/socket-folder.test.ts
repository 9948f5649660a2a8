import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { createServer, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Plan } from '../engine.ts'
import { openSocketFolder } from './socket-folder.ts'

let state: string
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'sockets-'))
})
afterEach(() => rmSync(state, { recursive: true }))

async function serve(path: string) {
  const server = createServer((_, response) => response.end('hello'))
  await new Promise<void>((resolve) => server.listen(path, resolve))
  return { close: () => new Promise<void>((resolve) => server.close(() => resolve())) }
}

const textOf = (socketPath: string): Promise<string> =>
  new Promise((resolve, reject) => {
    get({ socketPath, path: '/', agent: false }, async (response) =>
      resolve(Buffer.concat(await response.toArray()).toString()),
    ).on('error', reject)
  })

describe('the folder with the socket of an instance', () => {
  it.each([
    ['short', 'oci'],
    ['far longer than the path of a socket may be', `${'deep/'.repeat(30)}oci`],
  ])('works where the state folder is %s', async (_, below) => {
    const parent = join(state, below)
    const folder = await openSocketFolder(parent, 'one', serve, {} as Plan)
    expect(statSync(join(folder.path, 'host')).isSocket()).toBe(true)
    // A link of the test's own, since a client has the same limit.
    const short = join(state, 'x')
    symlinkSync(folder.path, short)
    expect(await textOf(join(short, 'host'))).toBe('hello')
    await folder.close()
    expect(existsSync(folder.path)).toBe(false)
  })

  it('is below a folder that only its owner may enter, also where that was open', async () => {
    const parent = join(state, 'oci')
    mkdirSync(parent)
    chmodSync(parent, 0o755)
    const folder = await openSocketFolder(parent, 'one', serve, {} as Plan)
    expect(statSync(parent).mode & 0o777).toBe(0o700)
    await folder.close()
  })

  it('is gone when nothing can listen in it', async () => {
    const parent = join(state, 'oci')
    const fails = () => Promise.reject(new Error('no'))
    await expect(openSocketFolder(parent, 'one', fails, {} as Plan)).rejects.toThrow('no')
    expect(existsSync(join(parent, 'one'))).toBe(false)
  })
})
