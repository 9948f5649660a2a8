/** Runs before each test file: what a test that failed replaced does not stay in a thread that is used again. */
import { vi } from 'vitest'

vi.useRealTimers()
vi.unstubAllGlobals()
vi.unstubAllEnvs()
vi.restoreAllMocks()
