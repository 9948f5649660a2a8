import { configDefaults, defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    include: ['packages/**/*.test.ts', 'apps/**/*.test.ts', 'tests/**/*.test.ts', 'examples/**/*.test.ts'],
    // Projects of users; tests/packages/templates.test.ts runs their tests.
    exclude: [...configDefaults.exclude, 'apps/cli/templates/**'],
    setupFiles: ['./tests/harness/gate-setup.ts'],
    reporters: ['default', './tests/harness/count-reporter.ts', './tests/harness/stall-reporter.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Its default is one second, which is too short on a machine with other work.
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: 2,
  },
})
