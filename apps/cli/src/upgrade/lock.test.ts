/** Processes that change an installation at the same time, and locks of processes that are gone. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { locked } from './lock.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-lock-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Locks the folder again and again; "inside" can be made by one process at a time. */
const program = `
  import { mkdirSync, rmdirSync } from 'node:fs'
  const { locked } = await import(process.argv[1])
  const folder = process.argv[2]
  let entered = 0
  for (let round = 0; round < 300; round++) {
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

it('processes that begin together never change the installation at the same time', {
  timeout: 60_000,
}, async () => {
  const module = fileURLToPath(new URL('./lock.ts', import.meta.url))
  const args = ['--conditions=source', '--input-type=module', '-e', program, module, folder]
  const runs = [1, 2, 3].map(async () => {
    const child = spawn(process.execPath, args)
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
