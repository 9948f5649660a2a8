/** Control groups that are there and fail: a function never starts with fewer layers than the machine has. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'

const run = promisify(execFile)

async function startWith(
  failure: string,
): Promise<{ started?: string[]; reason?: string; message?: string }> {
  const folder = await temporaryFolder()
  try {
    const script = join(root, 'tests/harness/function-without-groups.ts')
    const program = join(root, 'apps/runtime/dist/function-host.mjs')
    const node = [process.execPath, '--conditions=source', script, failure, folder.path, program]
    const { stdout } = await run('unshare', ['--mount', ...node])
    return JSON.parse(stdout)
  } finally {
    await folder.remove()
  }
}

describe('a function', needs('mounts', 'bwrap'), () => {
  it.each(['cannot be made', 'take no limits', 'cannot be joined'])(
    'does not start with control groups that %s, and the function is not to blame',
    async (failure) => {
      const { started, reason } = await startWith(failure)
      expect({ started, reason }).toEqual({ started: undefined, reason: 'engine_unavailable' })
    },
  )

  it('starts with control groups that work', async () => {
    expect(await startWith('none')).toMatchObject({
      started: expect.arrayContaining([expect.stringMatching(/^cgroup v[12]$/)]),
    })
  })
})
