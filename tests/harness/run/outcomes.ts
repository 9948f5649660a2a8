/** What the tests of each file came to: written by the reporter, put together by `npm test` and by CI. */
import { readFileSync } from 'node:fs'

/** What one test file came to. */
export interface FileOutcome {
  readonly passed: number
  /** Tests that failed; one for a file that failed to load or to prepare. */
  readonly failed: number
  readonly skipped: number
  readonly seconds: number
  /** CPU time of its process, and of the processes that it started and that have exited. */
  readonly cpuSeconds: number
  /** Titles of the failed tests, with those of their suites. */
  readonly failures: readonly string[]
  /** Titles of the skipped tests that name no need. */
  readonly unnamed: readonly string[]
  /** Titles of the tests that were skipped for each set of missing programs or rights, separated by commas. */
  readonly missing: Readonly<Record<string, readonly string[]>>
}

export interface Outcomes {
  /** By path in the project. */
  readonly files: Readonly<Record<string, FileOutcome>>
  /** Errors outside of any test. */
  readonly unhandled: number
  /** Lines about files that failed and passed when they ran once more. */
  readonly unstable: readonly string[]
  /** Only tests that an earlier run skipped: they count beside those of their files that passed there. */
  readonly isRest?: boolean
}

export const noOutcomes: Outcomes = { files: {}, unhandled: 0, unstable: [] }

export const readOutcomes = (path: string): Outcomes => JSON.parse(readFileSync(path, 'utf8')) as Outcomes

/** @returns both; a file that is in both counts as in the later one, or as in both together where that is the rest of the earlier one */
export const joinOutcomes = (earlier: Outcomes, later: Outcomes): Outcomes => ({
  files: {
    ...earlier.files,
    ...Object.fromEntries(
      Object.entries(later.files).map(([path, file]) => {
        const before = later.isRest ? (earlier.files[path]?.passed ?? 0) : 0
        return [path, { ...file, passed: before + file.passed }]
      }),
    ),
  },
  unhandled: earlier.unhandled + later.unhandled,
  unstable: [...earlier.unstable, ...later.unstable],
})

export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

export function countsOf({ files, unhandled }: Outcomes): Counts {
  const counts = { passed: 0, failed: unhandled, skipped: 0 }
  for (const { passed, failed, skipped } of Object.values(files)) {
    counts.passed += passed
    counts.failed += failed
    counts.skipped += skipped
  }
  return counts
}

/** The last line of every run. */
export const describeCounts = ({ passed, failed, skipped }: Counts): string =>
  `${passed} passed, ${failed} failed, ${skipped} skipped`

/** Files that may pass at their second attempt in one run: more are a defect of the product, of the tests, or of the machine. */
export const maxUnstable = 2

/** Whether it is a run without a defect. */
export const isGood = (outcomes: Outcomes): boolean =>
  countsOf(outcomes).failed === 0 && outcomes.unstable.length <= maxUnstable
