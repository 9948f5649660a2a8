/** The configuration of Vitest in the sandbox of a mutation run, where node_modules is a link to that of the checkout. */
import { realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { defineConfig, type Plugin } from 'vitest/config'
import { keptPool } from './kept/pool.ts'

const sandbox = join(import.meta.dirname, '../..')
const checkout = dirname(realpathSync(join(sandbox, 'node_modules')))

/** The packages of the project are those of the sandbox, which are mutated, not those that node_modules links to. */
const ownPackages: Plugin = {
  name: 'packages of the sandbox',
  enforce: 'pre',
  async resolveId(source, importer, options) {
    if (!source.startsWith('@selvedge/')) return undefined
    const found = await this.resolve(source, importer, { ...options, skipSelf: true })
    return found?.id.startsWith(join(checkout, 'packages'))
      ? sandbox + found.id.slice(checkout.length)
      : found
  },
}

/** Stryker names a pool of Vitest, which this replaces. */
const keptThreads: Plugin = {
  name: 'threads that are used again',
  configureVitest({ project: { config } }) {
    config.pool = keptPool.name
    config.poolRunner = keptPool
  },
}

export default defineConfig({
  plugins: sandbox === checkout ? [keptThreads] : [ownPackages, keptThreads],
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    include: JSON.parse(process.env.SELVEDGE_MUTATION_TESTS ?? process.env.SELVEDGE_AIMED_TESTS ?? '[]'),
    setupFiles: ['./tests/mutation/kept/setup.ts', './tests/harness/gate-setup.ts'],
    // A mutant that hangs costs this time, twice.
    testTimeout: 10_000,
    hookTimeout: 10_000,
    // Its default is one second, which is too short on a machine with other work.
    expect: { poll: { timeout: 5000 } },
    // One process loads each module once for all test files of a run, and again for the next mutant.
    isolate: false,
  },
})
