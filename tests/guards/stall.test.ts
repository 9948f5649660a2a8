/** A test that blocks its thread ends the run instead of holding it up for ever. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { root } from '../harness/processes.ts'

/** @returns IDs of the processes with a variable of that value */
const processesWith = (variable: string): string[] =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(variable)
    } catch {
      // It has exited, or is of another user.
      return false
    }
  })

it('ends a run in which a file reports nothing, names the file, and leaves no process', async () => {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const child = spawn(process.execPath, [vitest, 'run', '--config', 'tests/guards/stall/vitest.config.ts'], {
    cwd: root,
    env: { ...process.env, STALL_TEST: String(process.pid) },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [out, exited] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect(exited).toEqual([1, null])
  expect(out).toMatch(
    /^tests\/guards\/stall\/blocked.ts reported nothing for 10 s, after .*: the run ends here$/m,
  )
  await expect.poll(() => processesWith(`STALL_TEST=${process.pid}\0`)).toEqual([])
  expect(out.trimEnd()).toMatch(/\n\d+ passed, 1 failed, \d+ skipped$/)
})
