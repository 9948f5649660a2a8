/** Runs test files in a copy of the project, with the configuration of the mutation runs. */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

export interface TestRun {
  /** Full names of the tests that failed, each once. */
  readonly failed: readonly string[]
  /** Why there is no result: the files did not load, or did not finish in time. */
  readonly broken?: string
}

interface Report {
  readonly success: boolean
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message: string
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
  }[]
}

/** Milliseconds for the files of one change. A test has a limit of its own, which is shorter. */
const limitMs = 180_000

export function runTests(folder: string, files: readonly string[]): TestRun {
  const report = join(folder, 'report.json')
  rmSync(report, { force: true })
  const vitest = join(folder, 'node_modules/vitest/vitest.mjs')
  const config = 'tests/mutation/vitest.config.ts'
  const { error, stdout, stderr } = spawnSync(
    process.execPath,
    [vitest, 'run', '--config', config, '--maxWorkers=1', '--reporter=json', `--outputFile=${report}`],
    {
      cwd: folder,
      encoding: 'utf8',
      timeout: limitMs,
      killSignal: 'SIGKILL',
      env: { ...process.env, SELVEDGE_AIMED_TESTS: JSON.stringify(files) },
    },
  )
  if (error) return { failed: [], broken: `no result: ${error.message}` }
  let result: Report
  try {
    result = JSON.parse(readFileSync(report, 'utf8')) as Report
  } catch {
    return { failed: [], broken: `no report: ${stdout}${stderr}` }
  }
  const failed = result.testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName),
  )
  if (failed.length > 0) return { failed: [...new Set(failed)] }
  if (result.success && result.testResults.length > 0) return { failed }
  const unloaded = result.testResults.filter(({ status }) => status === 'failed')
  return {
    failed,
    broken: unloaded.map(({ name, message }) => `${name}: ${message}`).join('\n') || 'no tests ran',
  }
}
