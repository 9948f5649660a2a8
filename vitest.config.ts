import { configDefaults, defineConfig } from 'vitest/config'

/** Projects of users; tests/system/packages/templates.test.ts runs their tests. */
const templates = 'apps/cli/templates/**'
const suites = '{packages,apps}/**/*-suite.test.ts'
const rules = ['tests/rules/**/*.test.ts', 'tests/layers.test.ts']

/**
 * The kinds of tests. *unit*: beside the source, in one process. *integration*: daemons and their HTTP, and each interface that has several
 * implementations on all of them, with PostgreSQL and Redis where they are installed. *system*: kills, packages, containers, browsers,
 * root, networks. *rules*: what `npm run check` runs.
 */
const kinds = {
  unit: { include: ['{packages,apps}/**/*.test.ts'], exclude: [suites], isolate: false },
  integration: {
    include: ['tests/**/*.test.ts', suites],
    exclude: ['tests/system/**', ...rules],
    isolate: true,
  },
  system: { include: ['tests/system/**/*.test.ts', 'examples/**/*.test.ts'], exclude: [], isolate: true },
  rules: { include: rules, exclude: [], isolate: true },
}

/** What holds for every test, also for those that the guards start in a Vitest of their own. */
export const common = {
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    setupFiles: ['./tests/harness/gate-setup.ts'],
    reporters: ['default', './tests/harness/run/count-reporter.ts', './tests/harness/run/stall-reporter.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Its defaults are one second, which is too short on a machine with other work, and 50 ms, which most states do not need.
    expect: { poll: { timeout: 30_000, interval: 10 } },
    maxWorkers: 2,
  },
}

export default defineConfig({
  ...common,
  test: {
    ...common.test,
    projects: Object.entries(kinds).map(([name, { include, exclude, isolate }]) => ({
      extends: true as const,
      test: { name, include, isolate, exclude: [...configDefaults.exclude, templates, ...exclude] },
    })),
  },
})
