/** Where a command finds the runtime: what was named is used or fails, and what was not named is confirmed. */
import {
  chmodSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { needs } from '../../../../tests/harness/installed.ts'
import {
  type Address,
  findAdmin,
  findRuntime,
  readKeyFile,
  readStateFolder,
  usualUrl,
} from './runtime-address.ts'

let folder: string
let servers: Server[]
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'address-')))
  servers = []
})
afterEach(() => {
  vi.restoreAllMocks()
  for (const server of servers) server.close()
  rmSync(folder, { recursive: true })
})

async function listen(name: string): Promise<void> {
  const server = createServer()
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(join(folder, name), resolve))
}
/** Makes it one of another user. */
function giveAway(socket: string): void {
  const own = process.getuid!()
  if (own === 0) lchownSync(socket, 12_345, 12_345)
  else vi.spyOn(process, 'getuid').mockReturnValue(own + 1)
}
const named = () => ({ path: folder, isNamed: true })
const found = () => ({ path: folder, isNamed: false })
/** Where the packages are installed. */
const installed = () => ({
  runtime: join(folder, 'installed'),
  identity: join(folder, 'identity'),
  key: join(folder, 'key'),
})
const shown = ({ socketPath, ...address }: Address) => ({
  ...address,
  ...(socketPath !== undefined && { socket: realpathSync(socketPath) }),
})

describe('the state folder', () => {
  it.each([
    ['/a', { SELVEDGE_STATE: '/b' }, { path: '/a', isNamed: true }],
    [undefined, { SELVEDGE_STATE: '/b' }, { path: '/b', isNamed: true }],
    [undefined, { SELVEDGE_STATE: '' }, { path: './.selvedge', isNamed: false }],
    [undefined, {}, { path: './.selvedge', isNamed: false }],
  ])('of --state %j and %j', (flag, env, expected) => expect(readStateFolder(flag, env)).toEqual(expected))

  it('is not empty', () => {
    expect(() => readStateFolder('', {})).toThrow('--state is empty')
  })
})

describe('the runtime', () => {
  it('is at the URL that was named, whatever else there is', async () => {
    await listen('runtime.sock')
    const env = { SELVEDGE_RUNTIME_URL: 'https://b.example' }
    expect(findRuntime({ url: 'https://a.example' }, env, named())).toEqual({
      url: 'https://a.example',
      isOwnSocket: false,
    })
    expect(findRuntime({}, env, named())).toEqual({ url: 'https://b.example', isOwnSocket: false })
    expect(findRuntime({ state: folder }, env, named())).toMatchObject({ isOwnSocket: true })
    expect(() => findRuntime({ url: 'ftp://a' }, {}, named())).toThrow(/--url/)
    expect(() => findRuntime({}, { SELVEDGE_RUNTIME_URL: 'x' }, named())).toThrow(/SELVEDGE_RUNTIME_URL/)
  })

  it('is behind the socket of the state folder, with the key beside it', async () => {
    await listen('runtime.sock')
    writeFileSync(join(folder, 'api-key'), 'secret\n', { mode: 0o640 })
    for (const state of [named(), found()])
      expect(shown(findRuntime({}, {}, state))).toEqual({
        ...{ url: 'http://localhost', isOwnSocket: true, apiKey: 'secret' },
        ...{ socket: join(folder, 'runtime.sock'), shownPath: join(folder, 'runtime.sock') },
      })
    rmSync(join(folder, 'api-key'))
    expect(findRuntime({}, {}, named()).apiKey).toBeUndefined()
  })

  it('is not another one than that of the named folder', () => {
    expect(() => findRuntime({}, {}, named(), installed())).toThrow(
      expect.objectContaining({
        reason: 'not_running',
        message: `no runtime runs on ${folder}: it has no runtime.sock`,
      }),
    )
  })

  it('is at the usual URL otherwise, which has to be confirmed', () => {
    expect(usualUrl).toBe('http://127.0.0.1:8083')
    expect(findRuntime({}, {}, found(), installed())).toEqual({
      ...{ url: usualUrl, isOwnSocket: false },
      unconfirmed: {
        key: `runtime ${usualUrl}`,
        shown: expect.stringContaining(folder),
        hint: expect.stringContaining(`--url ${usualUrl}`),
      },
    })
  })

  it('is the installed one where the user named no folder and may trust it', async () => {
    mkdirSync(join(folder, 'installed'))
    await listen('installed/runtime.sock')
    expect(() => findRuntime({}, {}, named(), installed())).toThrow('no runtime runs on')
    const socket = join(folder, 'installed/runtime.sock')
    expect(shown(findRuntime({}, {}, found(), installed()))).toMatchObject({ isOwnSocket: true, socket })
    giveAway(socket)
    expect(findRuntime({}, {}, found(), installed()).url).toBe(usualUrl)
  })

  it('is not the installed one behind a link', async () => {
    mkdirSync(join(folder, 'installed'))
    await listen('installed/runtime.sock')
    renameSync(join(folder, 'installed'), join(folder, 'elsewhere'))
    symlinkSync(join(folder, 'elsewhere'), join(folder, 'installed'))
    expect(findRuntime({}, {}, found(), installed()).url).toBe(usualUrl)
  })

  it('that is installed gives its key to root alone', needs('root'), async () => {
    mkdirSync(join(folder, 'installed'))
    await listen('installed/runtime.sock')
    writeFileSync(join(folder, 'key'), 'secret\n', { mode: 0o600 })
    expect(findRuntime({}, {}, found(), installed()).apiKey).toBe('secret')
    vi.spyOn(process, 'getuid').mockReturnValue(12_345)
    expect(findRuntime({}, {}, found(), installed())).toMatchObject({ isOwnSocket: true, apiKey: undefined })
  })

  it('behind a socket that others could have made is not used', async () => {
    await listen('runtime.sock')
    chmodSync(folder, 0o777)
    expect(() => findRuntime({}, {}, named())).toThrow(/the socket in .* is not used: other users can write/)
    chmodSync(folder, 0o755)
    symlinkSync(folder, join(folder, 'link'))
    expect(() => findRuntime({}, {}, { path: join(folder, 'link'), isNamed: false })).toThrow(
      /is a symbolic link/,
    )
    // The user named it.
    expect(findRuntime({}, {}, { path: join(folder, 'link'), isNamed: true }).isOwnSocket).toBe(true)
  })

  it('of another user has to be confirmed, and gets no key', async () => {
    await listen('runtime.sock')
    const socket = join(folder, 'runtime.sock')
    giveAway(socket)
    const { uid } = lstatSync(socket)
    const address = findRuntime({}, {}, named())
    expect(shown(address)).toMatchObject({
      ...{ isOwnSocket: false, socket },
      unconfirmed: {
        key: `runtime unix:${socket} of user ${uid}`,
        shown: `The socket ${socket} belongs to user ${uid}, who is neither you nor root.`,
        hint: expect.stringContaining('--url'),
      },
    })
    expect(address).not.toHaveProperty('apiKey')
  })
})

describe("the operator's socket", () => {
  it('is that of the state folder, without a key', async () => {
    await listen('admin.sock')
    writeFileSync(join(folder, 'api-key'), 'secret')
    const socket = join(folder, 'admin.sock')
    expect(shown(findAdmin(named()))).toMatchObject({ isOwnSocket: true, socket, shownPath: socket })
    expect(findAdmin(named()).apiKey).toBeUndefined()
  })

  it('is that of the installed service where no folder was named, without the key of the runtime', async () => {
    mkdirSync(join(folder, 'identity'))
    await listen('identity/admin.sock')
    writeFileSync(join(folder, 'key'), 'secret', { mode: 0o600 })
    const socket = join(folder, 'identity/admin.sock')
    const address = findAdmin(found(), undefined, installed())
    expect(shown(address)).toMatchObject({ isOwnSocket: true, socket, shownPath: socket })
    expect(address.apiKey).toBeUndefined()
    expect(() => findAdmin(named(), undefined, installed())).toThrow(/no identity service runs/)
  })

  it('is never that of another folder than a context names', async () => {
    await listen('admin.sock')
    const context = { name: 'van' } as never
    expect(() => findAdmin(found(), context)).toThrow('the context van names no state folder')
    expect(findAdmin(named(), context)).toMatchObject({ isOwnSocket: true })
    expect(findAdmin(found())).toMatchObject({ isOwnSocket: true })
    mkdirSync(join(folder, 'other'))
    const other = { path: join(folder, 'other'), isNamed: true }
    for (const isNamed of [true, false])
      expect(() => findAdmin({ ...other, isNamed }, undefined, installed())).toThrow(
        expect.objectContaining({
          reason: 'not_running',
          message: `no identity service runs on ${other.path}: it has no admin.sock`,
        }),
      )
  })
})

it('a file with a key is of the user alone, and not empty', () => {
  const path = join(folder, 'key')
  expect(() => readKeyFile(path)).toThrow(`the file with the API key, ${path}, is missing`)
  writeFileSync(path, ' \n', { mode: 0o600 })
  expect(() => readKeyFile(path)).toThrow(`the file with the API key, ${path}, is empty`)
  writeFileSync(path, ' secret\n')
  expect(readKeyFile(path)).toBe('secret')
  chmodSync(path, 0o640)
  expect(() => readKeyFile(path)).toThrow(path)
})
