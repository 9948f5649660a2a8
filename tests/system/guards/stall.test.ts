/** A test that blocks its thread ends the run instead of holding it up for ever. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { descendantsOf, processesOf } from '../../harness/instances.ts'
import { root } from '../../harness/processes.ts'

it('ends a run in which a file reports nothing, names the file, and leaves no process', async () => {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const child = spawn(
    process.execPath,
    [vitest, 'run', '--config', 'tests/system/guards/stall/vitest.config.ts'],
    {
      cwd: root,
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  const workers = (among: readonly number[]) =>
    processesOf(join(root, 'node_modules/vitest/dist/workers')).filter((pid) => among.includes(pid))
  let started: number[] = []
  await expect.poll(() => (started = workers(descendantsOf(child.pid!)))).not.toEqual([])
  const [out, exited] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect(exited).toEqual([1, null])
  expect(out).toMatch(
    /^tests\/system\/guards\/stall\/blocked.ts reported nothing for 10 s, after .*: the run ends here$/m,
  )
  await expect.poll(() => workers(started)).toEqual([])
  expect(out.trimEnd()).toMatch(/\n\d+ passed, 1 failed, \d+ skipped$/)
})
