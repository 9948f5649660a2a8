/** The stack starts a dead program again, and stops doing so when that is no use. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freePorts, root, temporaryFolder } from '../../harness/processes.ts'

type Name = 'identity' | 'discovery' | 'runtime'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let stack: ChildProcess
let errors = ''
let urls: Record<Name, string>

async function start(): Promise<void> {
  folder = await temporaryFolder()
  stack = spawn(process.execPath, [join(root, 'scripts/start.mjs')], {
    env: { PATH: process.env.PATH, SELVEDGE_STATE: folder.path, SELVEDGE_LINK_LOCAL: 'false', ...freePorts },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  stack.stderr!.on('data', (chunk) => {
    errors += chunk
  })
  for await (const text of stack.stdout!.iterator({ destroyOnReturn: false }))
    if (String(text).includes('selvedge is ready')) break
  urls = JSON.parse(readFileSync(join(folder.path, 'stack.json'), 'utf8'))
}
async function stop(): Promise<void> {
  if (stack.exitCode === null) {
    stack.kill('SIGTERM')
    await once(stack, 'exit')
  }
  expect(['identity', 'discovery', 'runtime'].flatMap((name) => pidOf(name as Name) ?? [])).toEqual([])
  await folder.remove()
}
beforeEach(() => {
  errors = ''
})

/** The process of a program of this stack. */
const pidOf = (name: Name): number | undefined =>
  readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .map(Number)
    .find((pid) => {
      try {
        return (
          readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`apps/${name}/dist/main.cjs`) &&
          readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`SELVEDGE_STATE=${folder.path}\0`)
        )
      } catch {
        return false
      }
    })

async function until<T>(read: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (let attempt = 0; attempt < 600; attempt++) {
    const value = await read()
    if (value !== undefined && value !== false) return value
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`it did not happen; the stack wrote: ${errors}`)
}

const isUp = (url: string) =>
  fetch(url).then(
    () => true,
    () => undefined,
  )

describe('the stack', () => {
  beforeAll(start)
  afterAll(stop)

  it.each(['runtime', 'identity', 'discovery'] as const)(
    'starts a killed %s again on the port it had, with another process ID',
    async (name) => {
      const before = pidOf(name)!
      process.kill(before, 'SIGKILL')
      const after = await until(() => {
        const pid = pidOf(name)
        return pid === before ? undefined : pid
      })
      await until(() => isUp(urls[name]))
      expect(after).not.toBe(before)
      expect(errors).toContain(`${name} ended by SIGKILL; it is started again in 0.25 s`)
      await until(() => (errors.includes(`${name} runs again at ${urls[name]}`) ? true : undefined))
      for (const url of Object.values(urls)) expect(await isUp(url)).toBe(true)
    },
  )

  it('does not start a program again that a person has to repair', async () => {
    writeFileSync(join(folder.path, 'runtime/node-key.json'), 'rubbish')
    process.kill(pidOf('runtime')!, 'SIGKILL')
    await until(() =>
      errors.includes('runtime ended: its last log line names what to repair') ? true : undefined,
    )
    expect(errors).toMatch(/error: runtime did not start: the key of the node is damaged/)
    expect([await isUp(urls.identity), await isUp(urls.discovery)]).toEqual([true, true])
  })
})

describe('a stack of its own', () => {
  beforeAll(start)
  afterAll(stop)

  it('gives up after five failures in a minute, and the others go on', async () => {
    for (let failures = 0; failures < 5; failures++) {
      process.kill(await until(() => pidOf('runtime')), 'SIGKILL')
      await until(() => (pidOf('runtime') === undefined ? true : undefined))
    }
    await until(() =>
      /runtime ended by SIGKILL, for the 5th time within a minute/.test(errors) ? true : undefined,
    )
    expect(errors).toContain('It is not started again; the others continue')
    expect(pidOf('runtime')).toBeUndefined()
    expect([await isUp(urls.identity), await isUp(urls.discovery)]).toEqual([true, true])
  })
})
