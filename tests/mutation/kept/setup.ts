/** Runs before each test file: what a test that failed replaced does not stay in a thread that is used again. */
import { isMainThread } from 'node:worker_threads'
import { afterAll, vi } from 'vitest'

vi.useRealTimers()
vi.unstubAllGlobals()
vi.unstubAllEnvs()
vi.restoreAllMocks()

// A thread of Node has no umask of its own to set.
if (!isMainThread) {
  let mask = 0o022
  process.umask = (next: string | number = mask) => {
    const before = mask
    mask = Number(next)
    return before
  }
}

// The runner of Stryker always notes which tests execute a mutant. Without its note, all tests run against each mutant.
if (process.env.SELVEDGE_MUTATION_ALL)
  afterAll(() => {
    const shared = (globalThis as { __stryker__?: { mutantCoverage?: unknown } }).__stryker__
    if (shared) shared.mutantCoverage = undefined
  })
