import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createServer, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSettings } from '@selvedge/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Plan } from '../engine.ts'
import { openSocketFolder } from './socket-folder.ts'

const plan = { id: 'Client_1-My.Service', settings: readSettings({ 'MCM.HOSTS': 'db=10.0.0.5' }) } as Plan

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
    const folder = await openSocketFolder(parent, 'one', serve, plan)
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
    const folder = await openSocketFolder(parent, 'one', serve, plan)
    expect(statSync(parent).mode & 0o777).toBe(0o700)
    await folder.close()
  })

  it('is gone when nothing can listen in it', async () => {
    const parent = join(state, 'oci')
    const fails = () => Promise.reject(new Error('no'))
    await expect(openSocketFolder(parent, 'one', fails, plan)).rejects.toThrow('no')
    expect(existsSync(join(parent, 'one'))).toBe(false)
  })

  it('has files that each user of the container can read, and only the runtime can change, whatever the umask of the runtime', async () => {
    const before = process.umask(0o077)
    const folder = await openSocketFolder(join(state, 'oci'), 'one', serve, plan).finally(() =>
      process.umask(before),
    )
    const read = (name: string) => readFileSync(join(folder.path, name), 'utf8')
    expect(read('hosts')).toBe('127.0.0.1 localhost\n127.0.1.1 client-1-my-service\n10.0.0.5 db\n')
    expect(read('hostname')).toBe('client-1-my-service\n')
    expect(read('empty')).toBe('')
    for (const name of ['hosts', 'hostname', 'empty'])
      expect(statSync(join(folder.path, name)).mode & 0o777).toBe(0o644)
    await folder.close()
    expect(existsSync(folder.path)).toBe(false)
  })
})
