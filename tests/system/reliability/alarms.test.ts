/** Daemons whose log cannot be written, and what a crash leaves behind. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runtimeOf } from '../../harness/flow.ts'
import { freePorts, root, startProgram, temporaryFolder } from '../../harness/processes.ts'

it.each(['runtime', 'identity', 'discovery'] as const)(
  '%s runs, answers and ends in order with a full disk under its log',
  async (name) => {
    const folder = await temporaryFolder()
    const program = join(root, `apps/${name}/dist/main.cjs`)
    const child = spawn(
      'sh',
      ['-c', 'exec "$@" 2>/dev/full', 'sh', process.execPath, program, '--log.level=debug'],
      {
        env: {
          PATH: process.env.PATH,
          SELVEDGE_STATE: folder.path,
          SELVEDGE_LINK_LOCAL: 'false',
          ...freePorts,
        },
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      },
    )
    const [{ ready }] = (await once(child, 'message')) as [{ ready: { url: string } }]
    // Each of these is a line of the log, or several.
    for (let call = 0; call < 20; call++) await fetch(`${ready.url}/nothing`)
    child.kill('SIGTERM')
    const [code, signal] = await once(child, 'exit')
    expect({ code, signal }).toEqual({ code: 0, signal: null })
    await folder.remove()
  },
)

it('shows a crash of the last day as a notice with its error ID, and nothing else of it', async () => {
  const folder = await temporaryFolder()
  mkdirSync(join(folder.path, 'runtime'))
  const crash = { count: 3, errorId: '8c1fdd06-0000-4000-8000-000000000001', at: Date.now() - 60_000 }
  writeFileSync(join(folder.path, 'runtime/crashes.json'), JSON.stringify(crash))
  const runtime = await startProgram('runtime', { SELVEDGE_STATE: folder.path, ...freePorts })
  const { notices } = await runtimeOf({ runtime }).getMe()
  expect(notices).toEqual([
    { reason: 'crashed', errorId: crash.errorId, time: new Date(crash.at).toISOString() },
  ])
  await runtime.stop()
  await folder.remove()
})
