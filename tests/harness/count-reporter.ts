import type { Reporter, TestCase, TestModule } from 'vitest/node'
import programs from './programs.json' with { type: 'json' }

/** Ends the output with what was skipped, by what was missing, and one plain line of real counts. */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    // An error outside of any test fails the run.
    const counts = { passed: 0, failed: unhandled.length, skipped: 0 }
    const skipped: TestCase[] = []
    for (const module of modules) {
      // A file that failed to load or to prepare has no failed tests to count.
      if (module.state() === 'failed' && [...module.children.allTests('failed')].length === 0) counts.failed++
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed' || state === 'failed') counts[state]++
        else skipped.push(test)
      }
    }
    counts.skipped = skipped.length
    for (const line of describeSkipped(skipped)) process.stdout.write(`${line}\n`)
    process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
  }
}

/** How many tests without a stated need are named. */
const maxNamed = 10

/** One line for each set of missing programs, with what installs them; then the tests that name no need. */
function describeSkipped(tests: readonly TestCase[]): string[] {
  const byNeed = new Map<string, number>()
  const others: string[] = []
  for (const test of tests) {
    const { missing } = test.meta()
    if (missing) byNeed.set(missing.join(', '), (byNeed.get(missing.join(', ')) ?? 0) + 1)
    else others.push(test.fullName)
  }
  const lines = [...byNeed]
    .sort(([, one], [, two]) => two - one)
    .map(([missing, count]) => `skipped ${count}, missing ${missing}: ${remedyOf(missing.split(', '))}`)
  const named = others.slice(0, maxNamed).map((name) => `skipped: ${name}`)
  const more = others.length > maxNamed ? [`skipped: ${others.length - maxNamed} more`] : []
  return [...lines, ...named, ...more]
}

const rights: Readonly<Record<string, string>> = {
  'package tools': 'npm ci --prefix tests/packages/tools',
  'client libraries': 'npm ci --prefix tests/clients/libraries',
  'image tools': 'npm ci --prefix tests/services/image-tools',
  root: 'run as root',
  networks: 'run as root where network namespaces can be made',
  mounts: 'run as root where file systems can be mounted',
}

/** What to do about needs that are not met: the line that installs the programs, and how to get the rights. */
function remedyOf(missing: readonly string[]): string {
  const packages = missing.flatMap((each) => programs[each as keyof typeof programs] ?? [])
  const needed = missing.flatMap((each) => rights[each] ?? [])
  return [...(packages.length > 0 ? [`apt-get install ${packages.join(' ')}`] : []), ...needed].join('; ')
}
