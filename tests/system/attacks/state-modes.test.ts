/** Another user of the device looks for files of the state folder that he can read, and for a folder that he can own first. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { functionImage, writeFile } from '../../harness/archives.ts'
import { accessToken, createDeveloper, runtimeOf } from '../../harness/flow.ts'
import { watch } from '../../harness/gate.ts'
import { needs } from '../../harness/installed.ts'
import { freePorts, root, temporaryFolder } from '../../harness/processes.ts'
import { callUrl } from '../../harness/services.ts'

const modeOf = (path: string): number => lstatSync(path).mode & 0o777

/** Every path below a folder whose mode gives other users something, as `mode path`. Sockets may have 0660, as documented. */
function wide(folder: string, base = folder): string[] {
  const found = readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return wide(path, base)
    const allowed = entry.isSocket() ? 0o660 : 0o600
    return modeOf(path) & ~allowed ? [`${modeOf(path).toString(8)} ${path.slice(base.length)}`] : []
  })
  return modeOf(folder) & ~0o700
    ? [`${modeOf(folder).toString(8)} ${folder.slice(base.length)}`, ...found]
    : found
}

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let state: string
const running: { stop(): Promise<void> }[] = []
beforeEach(async () => {
  folder = await temporaryFolder()
  chmodSync(folder.path, 0o755)
  state = join(folder.path, 'state')
})
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop()
  await folder.remove()
})

async function startWhole(at = state) {
  const child = spawn(process.execPath, [join(root, 'apps/stack/dist/main.cjs')], {
    env: {
      PATH: process.env.PATH,
      SELVEDGE_STATE: at,
      SELVEDGE_LINK_LOCAL: 'false',
      SELVEDGE_CONFIG: '',
      ...freePorts,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const watched = watch('the stack', child)
  const ended = once(child, 'exit')
  await Promise.race([once(child.stdout, 'data'), ended])
  const stack = {
    child,
    errors: watched.errors,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
  running.push(stack)
  return stack
}

/** Account, token, location, image, upload and a function with storage: all that a stack writes. */
async function useAll(): Promise<void> {
  const urls = JSON.parse(readFileSync(join(state, 'stack.json'), 'utf8')) as Record<
    'runtime' | 'identity',
    string
  >
  const stack = { runtime: { url: urls.runtime }, identity: { url: urls.identity } }
  const token = await accessToken(stack, await createDeveloper(state))
  const runtime = runtimeOf(stack)
  await runtime.associateAccount({ edgeAccessToken: token })
  await runtime.updateGps({
    edgeAccessToken: token,
    longitude: '13',
    latitude: '52',
    speed: '0',
    bearing: '0',
  })
  await runtime.getNodes({ edgeAccessToken: token, cluster: 'account' })
  const archive = functionImage(
    'export default { async fetch(q, env, { storage }) { storage.setItem("a", "b"); return new Response("ok") } }',
    'writer',
  )
  const source = writeFile(join(folder.path, 'archives'), 'one.tar', archive)
  const { id } = await runtime.deployImage({ edgeAccessToken: token, source })
  const { basePath } = await runtime.deployContainer({
    edgeAccessToken: token,
    spec: { name: 'writer', image: id, env: {} },
  })
  expect((await callUrl(urls.runtime + basePath, { token })).status).toBe(200)
  await callUrl(`${urls.runtime}/mcm/v1/uploads`, {
    method: 'POST',
    token,
    headers: { 'Content-Type': 'application/x-tar' },
    body: archive,
  })
}

describe('the state folder', () => {
  it('has no file, folder or socket that other users can use, while the stack runs and after', async () => {
    const stack = await startWhole()
    await useAll()
    expect(wide(state)).toEqual([])
    expect(modeOf(state)).toBe(0o700)
    expect(modeOf(join(state, 'runtime.sock'))).toBe(0o660)
    expect(readdirSync(join(state, 'runtime'))).toContain('storage.db')
    await stack.stop()
    expect(wide(state)).toEqual([])
  })

  it('is narrowed, with all that is in it, where an earlier version left it open', async () => {
    const first = await startWhole()
    await first.stop()
    const files = ['identity/identity.db', 'discovery/locations.db', 'runtime/state.a']
    for (const each of files) chmodSync(join(state, each), 0o644)
    const outside = join(folder.path, 'outside')
    writeFileSync(outside, '')
    chmodSync(outside, 0o644)
    symlinkSync(outside, join(state, 'runtime/link'))
    chmodSync(state, 0o750)
    const second = await startWhole()
    await second.stop()
    expect(second.errors()).toContain('was open to other users (mode 0750)')
    expect(files.map((each) => modeOf(join(state, each)))).toEqual([0o600, 0o600, 0o600])
    expect(modeOf(state)).toBe(0o700)
    expect(modeOf(outside)).toBe(0o644)
  })

  it.each([
    [0o755, 'other.txt'],
    [0o1777, 'runtime'],
  ])('is never a folder of others: with mode %o and %s in it, the start is refused', async (mode, name) => {
    mkdirSync(state)
    mkdirSync(join(state, name))
    chmodSync(state, mode)
    const stack = await startWhole()
    expect(stack.child.exitCode).not.toBe(0)
    expect(stack.errors()).toMatch(/is open to other users \(mode 0\d+\) and holds other files\. Choose/)
    expect(stack.errors()).not.toMatch(/^ +at /m)
    expect(lstatSync(state).mode & 0o7777).toBe(mode)
    expect(readdirSync(state)).toEqual([name])
  })

  it('is not taken from another user who made it first', needs('root'), async () => {
    mkdirSync(state, { mode: 0o700 })
    chownSync(state, 65_534, 65_534)
    const stack = await startWhole()
    expect(stack.child.exitCode).not.toBe(0)
    expect(stack.errors()).toMatch(/belongs to user 65534, and this program runs as user 0/)
    expect(readdirSync(state)).toEqual([])
  })

  it('lets no other user reach its sockets or files', needs('root', 'setpriv'), async () => {
    await startWhole()
    for (const name of ['runtime.sock', 'admin.sock', 'stack.json', 'identity/secret-keys']) {
      expect(existsSync(join(state, name))).toBe(true)
      const asNobody = ['--reuid=65534', '--regid=65534', '--clear-groups', 'stat', join(state, name)]
      expect(spawnSync('setpriv', asNobody, { encoding: 'utf8' }).stderr).toContain('Permission denied')
    }
  })
})
