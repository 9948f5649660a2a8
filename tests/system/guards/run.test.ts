/** What a run of tests reports to its caller: a second attempt makes up for failed tests, and for nothing else. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { root, temporaryFolder } from '../../harness/processes.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(() => folder.remove())

/** Runs the tests of `run/attempts.ts`, which fail so many times. */
async function runTests(failures: number, ...args: string[]): Promise<{ code: number; lines: string[] }> {
  const path = join(folder.path, String(failures))
  mkdirSync(path, { recursive: true })
  for (let at = 0; at < failures; at++) writeFileSync(join(path, String(at)), '')
  const command = [
    join(root, 'tests/harness/run/run.ts'),
    '--config=tests/system/guards/run/vitest.config.ts',
    ...args,
  ]
  const { SELVEDGE_TEST_OUTCOMES: _, ...env } = process.env
  const child = spawn(process.execPath, command, {
    cwd: root,
    env: { ...env, SELVEDGE_TEST_FAILURES: path },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return { code, lines: out.trimEnd().split('\n') }
}

it('a file that passes at its second attempt is named, and the run is good', async () => {
  const { code, lines } = await runTests(1)
  expect(code).toBe(0)
  expect(
    lines.filter((line) => line.startsWith('unstable: tests/system/guards/run/attempts.ts')),
  ).toHaveLength(1)
  expect(lines.at(-1)).toBe('2 passed, 0 failed, 0 skipped')
})

it('a file that fails twice fails the run', async () => {
  const { code, lines } = await runTests(2)
  expect(code).toBe(1)
  expect(lines.at(-1)).toBe('1 passed, 1 failed, 0 skipped')
})

it('a run that finds no test fails', async () => {
  const { code, lines } = await runTests(0, 'no-such-file')
  expect(code).toBe(1)
  expect(lines.at(-1)).toBe('0 passed, 0 failed, 0 skipped')
})

it('runs of an earlier run only what was skipped for a need, and refuses one that skipped nothing', async () => {
  const earlier = (missing: object) => {
    const path = join(folder.path, 'earlier.json')
    const files = {
      'tests/system/guards/run/attempts.ts': { missing },
      'tests/no-such.test.ts': { missing: {} },
    }
    writeFileSync(path, JSON.stringify({ files }))
    return `--skipped-in=${path}`
  }
  const { code, lines } = await runTests(0, earlier({ podman: ['passes at once'] }))
  expect(code).toBe(0)
  expect(lines.at(-1)).toBe('1 passed, 0 failed, 0 skipped')
  expect((await runTests(0, earlier({}))).code).toBe(1)
})
