import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, TestModule, Vitest } from 'vitest/node'
import { seed } from '../seed.ts'
import { countsOf, describeCounts, type FileOutcome, type Outcomes } from './outcomes.ts'
import { describeSkipped } from './skipped.ts'

/** Ends the output with what was skipped, by what was missing, and one plain line of real counts. */
export default class CountReporter implements Reporter {
  /** Tests with other names are left out by the caller: they are not skipped. */
  #pattern: RegExp | undefined

  onInit({ config }: Vitest): void {
    this.#pattern = config.testNamePattern
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const files = Object.fromEntries(
      modules.map((each) => [relative(process.cwd(), each.moduleId), outcomeOf(each, this.#pattern)]),
    )
    const outcomes: Outcomes = { files, unhandled: unhandled.length, unstable: [] }
    const path = process.env.SELVEDGE_TEST_OUTCOMES
    if (path !== undefined) writeFileSync(path, JSON.stringify(outcomes))
    for (const line of describeSkipped(outcomes)) process.stdout.write(`${line}\n`)
    const counts = countsOf(outcomes)
    if (counts.failed > 0) process.stdout.write(`seed ${seed}\n`)
    process.stdout.write(`\n${describeCounts(counts)}\n`)
  }
}

function outcomeOf(module: TestModule, pattern: RegExp | undefined): FileOutcome {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  const failures: string[] = []
  const unnamed: string[] = []
  const missing: Record<string, string[]> = {}
  for (const test of module.children.allTests()) {
    if (pattern?.test(test.fullName) === false) continue
    const { state } = test.result()
    counts[state === 'passed' || state === 'failed' ? state : 'skipped']++
    if (state === 'failed') failures.push(test.fullName)
    if (state !== 'skipped') continue
    const needs = test.meta().missing?.join(', ')
    const same = needs === undefined ? unnamed : (missing[needs] ??= [])
    same.push(test.fullName)
  }
  // A file that failed to load or to prepare has no failed tests to count.
  if (module.state() === 'failed' && counts.failed === 0) {
    counts.failed = 1
    failures.push('the file')
  }
  const { cpuSeconds = 0 } = module.meta()
  const seconds = module.diagnostic().duration / 1000
  return { ...counts, seconds, cpuSeconds, failures, unnamed, missing }
}
