/** How the stack ends: gracefully on a signal, and completely when it is killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { watch } from '../../harness/gate.ts'
import { freePorts, root, temporaryFolder } from '../../harness/processes.ts'

interface Whole {
  readonly child: ChildProcess
  errors(): string
  /** Ends it, and waits until it has ended. */
  end(signal?: NodeJS.Signals): Promise<void>
}

async function startWhole(state: string, env: Record<string, string> = {}): Promise<Whole> {
  const child = spawn(process.execPath, [join(root, 'scripts/start.mjs')], {
    cwd: root,
    env: { PATH: process.env.PATH, SELVEDGE_STATE: state, ...freePorts, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const watched = watch('the stack', child)
  const isReady = await Promise.race([
    once(child.stdout!, 'data').then(() => true),
    once(child, 'exit').then(() => false),
  ])
  if (isReady) watched.mustRun()
  return {
    child,
    errors: watched.errors,
    async end(signal = 'SIGTERM') {
      watched.expectEnd()
      child.kill(signal)
      await once(child, 'exit')
    },
  }
}

const answers = (url: string) =>
  fetch(url).then(
    () => true,
    () => false,
  )

const eventually = async (check: () => Promise<boolean>): Promise<boolean> => {
  for (let attempt = 0; attempt < 200; attempt++) {
    if (await check()) return true
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return false
}

it.each(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)('after %s nothing of it is left', async (signal) => {
  const folder = await temporaryFolder()
  const { child, end } = await startWhole(folder.path)
  const urls = Object.values(JSON.parse(readFileSync(join(folder.path, 'stack.json'), 'utf8'))) as string[]
  expect(await Promise.all(urls.map(answers))).toEqual([true, true, true])
  await end(signal)
  expect(await eventually(async () => !(await Promise.all(urls.map(answers))).includes(true))).toBe(true)
  if (signal !== 'SIGKILL') {
    expect(child.exitCode).toBe(0)
    expect(
      ['runtime.sock', 'admin.sock', 'stack.json'].filter((name) => existsSync(join(folder.path, name))),
    ).toEqual([])
  }
  await folder.remove()
})

it('when one part can’t start, says which and why, and leaves nothing running', async () => {
  const folder = await temporaryFolder()
  const { child, errors } = await startWhole(folder.path, { SELVEDGE_DISCOVERY_PORT: 'eighty' })
  if (child.exitCode === null) await once(child, 'exit')
  expect(child.exitCode).toBe(1)
  expect(errors()).toMatch(/environment variable SELVEDGE_DISCOVERY_PORT: option "listen.port" is /)
  expect(errors()).toContain('discovery did not start')
  expect(existsSync(join(folder.path, 'admin.sock'))).toBe(false)
  await folder.remove()
})

it('a second one on the same folder, or on the same ports, names the reason and leaves the first alone', async () => {
  const folder = await temporaryFolder()
  const other = await temporaryFolder()
  const { end } = await startWhole(folder.path)
  const addresses = readFileSync(join(folder.path, 'stack.json'), 'utf8')
  const port = new URL(JSON.parse(addresses).identity).port
  for (const [state, env, message] of [
    [folder.path, {}, /another identity uses the state folder .*; stop it or choose another state folder/],
    [
      other.path,
      { SELVEDGE_IDENTITY_PORT: port },
      new RegExp(
        `identity did not start: port ${port} is in use by another program; stop it or choose another port with option "listen.port" or environment variable SELVEDGE_IDENTITY_PORT`,
      ),
    ],
  ] as const) {
    const second = await startWhole(state, env)
    if (second.child.exitCode === null) await once(second.child, 'exit')
    expect(second.child.exitCode).toBe(1)
    expect(second.errors()).toMatch(message)
    expect(second.errors()).not.toMatch(/^ +at /m)
  }
  expect(readFileSync(join(folder.path, 'stack.json'), 'utf8')).toBe(addresses)
  expect(await Promise.all((Object.values(JSON.parse(addresses)) as string[]).map(answers))).toEqual([
    true,
    true,
    true,
  ])
  await end()
  await folder.remove()
  await other.remove()
})

it('takes its folder and the options of each part from the configuration file', async () => {
  const folder = await temporaryFolder()
  const file = join(folder.path, 'selvedge.json')
  const listen = { port: 0 }
  const state = join(folder.path, 'state')
  writeFileSync(
    file,
    JSON.stringify({ state, runtime: { name: 'boat', listen }, identity: { listen }, discovery: { listen } }),
  )
  const { end } = await startWhole('', { SELVEDGE_CONFIG: file, ...noPorts })
  const { runtime } = JSON.parse(readFileSync(join(state, 'stack.json'), 'utf8'))
  const init = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"jsonrpc":"2.0","method":"getMe","id":1}',
  }
  expect(await (await fetch(`${runtime}/jsonrpc/v1`, init)).json()).toMatchObject({
    result: { name: 'boat' },
  })
  await end()
  await folder.remove()
})

const noPorts = { SELVEDGE_RUNTIME_PORT: '', SELVEDGE_IDENTITY_PORT: '', SELVEDGE_DISCOVERY_PORT: '' }

it('gives the secrets of the identity service to no other daemon', async () => {
  const folder = await temporaryFolder()
  const secret = Buffer.alloc(32, 5).toString('base64url')
  const { end } = await startWhole(folder.path, { SELVEDGE_IDENTITY_KEYS: secret })
  const holders = readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .flatMap((pid) => {
      try {
        if (!readFileSync(`/proc/${pid}/environ`, 'utf8').includes(secret)) return []
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').match(/apps\/(\w+)\/dist/)?.[1] ?? []
      } catch {
        return []
      }
    })
  expect([...new Set(holders)].sort()).toEqual(['identity', 'stack'])
  await end()
  await folder.remove()
})
