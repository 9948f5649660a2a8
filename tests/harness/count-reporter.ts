import type { Reporter, TestModule } from 'vitest/node'

/** Ends the output with one plain line of real counts, and names what was skipped. */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 }
    for (const module of modules) {
      // A file that could not be loaded, or whose preparations failed, has no failed tests to count.
      if (module.state() === 'failed' && [...module.children.allTests('failed')].length === 0) counts.failed++
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed' || state === 'failed') counts[state]++
        else {
          counts.skipped++
          process.stdout.write(`skipped: ${test.fullName}\n`)
        }
      }
    }
    process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
  }
}
