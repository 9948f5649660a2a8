/** The gate of every test can fail: each attempt to pass with an alarm is one failed test, and nothing else is. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root, temporaryFolder } from '../../harness/processes.ts'

it('fails each test during which there is an alarm that it did not ask for, and no other', async () => {
  const folder = await temporaryFolder()
  const report = join(folder.path, 'report.json')
  const child = spawn(
    process.execPath,
    [
      join(root, 'node_modules/vitest/vitest.mjs'),
      ...[
        'run',
        '--config',
        'tests/system/guards/gate/vitest.config.ts',
        '--reporter=json',
        `--outputFile=${report}`,
      ],
    ],
    { cwd: root, stdio: 'ignore' },
  )
  expect(await once(child, 'exit')).toEqual([1, null])
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
  const results = testResults[0].assertionResults as {
    ancestorTitles: string[]
    status: string
    title: string
  }[]
  await folder.remove()
  expect(results).toHaveLength(12)
  for (const { ancestorTitles, status, title } of results)
    expect({ title, status }).toEqual({ title, status: ancestorTitles[0] === 'fails' ? 'failed' : 'passed' })
})
