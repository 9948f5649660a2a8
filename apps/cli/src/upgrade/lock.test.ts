/** Processes that change an installation at the same time, and locks of processes that are gone. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest'
import { locked } from './lock.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-lock-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const module = fileURLToPath(new URL('./lock.ts', import.meta.url))
const argsOf = (script: string) => [
  '--conditions=source',
  '--input-type=module',
  '-e',
  script,
  module,
  folder,
]

/** Locks the folder again and again; "inside" can be made by one process at a time. */
const program = `
  import { mkdirSync, rmdirSync } from 'node:fs'
  const { locked } = await import(process.argv[1])
  const folder = process.argv[2]
  let entered = 0
  for (let round = 0; round < 100; round++) {
    const change = async () => {
      mkdirSync(folder + '/inside')
      await undefined
      rmdirSync(folder + '/inside')
      entered++
    }
    await locked(folder, change).catch((cause) => {
      if (cause.constructor.name !== 'UsageError') throw cause
    })
  }
  console.log(entered)
`

it('processes that begin together never change the installation at the same time', async () => {
  const runs = [1, 2, 3].map(async () => {
    const child = spawn(process.execPath, argsOf(program))
    const output = Promise.all([text(child.stdout), text(child.stderr)])
    const [code] = await once(child, 'exit')
    const [entered, errors] = await output
    return { code, entered: Number(entered), errors }
  })
  const results = await Promise.all(runs)
  for (const { code, errors } of results) expect(code, errors).toBe(0)
  expect(Math.max(...results.map(({ entered }) => entered))).toBeGreaterThan(0)
  expect(readdirSync(folder)).toEqual([])
})

it('a lock of a process that is gone does not count, also if another process has its number', async () => {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  symlinkSync(`${boot}:1`, join(folder, 'upgrade.lock.4194304'))
  symlinkSync(`${boot}:1`, join(folder, `upgrade.lock.${process.ppid}`))
  symlinkSync('an earlier run of the machine:1', join(folder, `upgrade.lock.${process.pid}`))
  expect(await locked(folder, () => 'changed')).toBe('changed')
  expect(readdirSync(folder)).toEqual([])
})

it('a change has the lock of its process until it ends, and nothing else of the folder changes', async () => {
  writeFileSync(join(folder, 'choose-release'), '')
  symlinkSync('releases/1.0.0', join(folder, 'current'))
  const others = ['choose-release', 'current']
  const own = `upgrade.lock.${process.pid}`
  await locked(folder, () => {
    expect(readdirSync(folder).sort()).toEqual([...others, own])
    // Another process with the same number has another run of the machine, or start time.
    expect(readlinkSync(join(folder, own))).toMatch(/^[0-9a-f-]{36}:\d+$/)
  })
  expect(readdirSync(folder).sort()).toEqual(others)
  const failed = locked(folder, () => Promise.reject(new Error('no space')))
  await expect(failed).rejects.toThrow('no space')
  expect(readdirSync(folder).sort()).toEqual(others)
})

it('a change may remove the installation', async () => {
  expect(await locked(folder, () => rmSync(folder, { recursive: true }))).toBeUndefined()
})

it('a file with the name of a lock locks nothing', async () => {
  writeFileSync(join(folder, 'upgrade.lock.4194304'), '')
  expect(await locked(folder, () => 'changed')).toBe('changed')
  expect(readdirSync(folder)).toEqual(['upgrade.lock.4194304'])
})

/** Locks the folder until it is killed. Its name has what separates the fields of its state. */
const holder = `
  process.title = 'x) y z'
  const { locked } = await import(process.argv[1])
  await locked(process.argv[2], () => {
    console.log('inside')
    return new Promise(() => setInterval(() => undefined, 60_000))
  })
`

async function hold(): Promise<{ pid: number; lock: string; end: () => Promise<void> }> {
  const child = spawn(process.execPath, argsOf(holder), { stdio: ['ignore', 'pipe', 'inherit'] })
  const end = async () => {
    if (child.kill('SIGKILL')) await once(child, 'exit')
  }
  onTestFinished(end)
  await once(child.stdout, 'data')
  return { pid: child.pid!, lock: readlinkSync(join(folder, `upgrade.lock.${child.pid}`)), end }
}

it('a process that changes the installation keeps others out until it is gone, whatever its name', async () => {
  const first = await hold()
  expect(readFileSync(`/proc/${first.pid}/comm`, 'utf8')).toBe('x) y z\n')
  const refused = locked(folder, () => 'changed')
  await expect(refused).rejects.toThrow(`process ${first.pid} is changing this installation`)
  expect(readdirSync(folder)).toEqual([`upgrade.lock.${first.pid}`])
  await first.end()
  // The lock is still there, and would be of another process with this number.
  const second = await hold()
  expect(second.lock).not.toBe(first.lock)
  await second.end()
  expect(await locked(folder, () => 'changed')).toBe('changed')
  expect(readdirSync(folder)).toEqual([])
})
