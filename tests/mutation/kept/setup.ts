/** Runs before each test file: what a test that failed replaced does not stay in a thread that is used again. */
import { afterAll, vi } from 'vitest'

vi.useRealTimers()
vi.unstubAllGlobals()
vi.unstubAllEnvs()
vi.restoreAllMocks()

// The runner of Stryker always notes which tests execute a mutant. Without its note, all tests run against each mutant.
if (process.env.SELVEDGE_MUTATION_ALL)
  afterAll(() => {
    const shared = (globalThis as { __stryker__?: { mutantCoverage?: unknown } }).__stryker__
    if (shared) shared.mutantCoverage = undefined
  })
