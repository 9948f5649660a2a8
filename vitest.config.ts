import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { stepLimitMs, testLimitMs } from './tests/harness/limits.ts'

/** Projects of users; tests/system/packages/templates.test.ts runs their tests. */
const templates = 'apps/cli/templates/**'
const suites = '{packages,apps}/**/*-suite.test.ts'
const rules = ['tests/rules/**/*.test.ts', 'tests/layers.test.ts']

/** Files of half a minute and more, by the time that each needs: they start first, so that no long one is alone at the end. */
const longest = [
  'containers/containers',
  'powercut/powercut',
  'services/oci-settings',
  'attacks/oci-outbound',
  'people/console',
  'attacks/local-network',
  'packages/release',
  'services/public-images',
  'attacks/never-read',
  'reliability/kills',
  'attacks/app-member',
  'services/other-engines',
  'services/apps',
  'services/device-access',
  'services/app-volumes',
  'attacks/oci-profile',
  'services/functions',
  'services/life-cycle',
  'attacks/device-access',
  'fuzz/fuzz',
  'network/bad-networks',
  'attacks/console-map',
  'upgrade/upgrade',
  'e2e/offline',
  'services/oci',
  'packages/npm',
  'services/last-words',
  'packages/arm64',
  'pulls/pulls',
  'reliability/full-disk-start',
  'reliability/deploy-kill',
  'reliability/faults/faults',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = longest.findIndex((each) => moduleId.endsWith(`tests/system/${each}.test.ts`))
      return rank < 0 ? longest.length : rank
    }
    return (await super.sort(files)).toSorted((one, two) => rankOf(one) - rankOf(two))
  }
}

/** They mostly wait: for processes, containers, networks and browsers. */
const systemWorkers = 6

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
    isolate: false,
  },
  system: {
    include: ['tests/system/**/*.test.ts', 'examples/**/*.test.ts'],
    exclude: [],
    maxWorkers: systemWorkers,
    // A process for each file would need most of a second for the modules of the harness.
    isolate: false,
    // Vitest needs groups of projects with different numbers of workers; they run one after the other.
    sequence: { groupOrder: 1 },
  },
  // In few processes, which read and parse each source once.
  rules: { include: rules, exclude: [], isolate: false },
}

/** What holds for every test, also for those that the guards start in a Vitest of their own. */
export const common = {
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    setupFiles: ['./tests/harness/gate-setup.ts'],
    reporters: ['default', './tests/harness/run/count-reporter.ts', './tests/harness/run/stall-reporter.ts'],
    testTimeout: testLimitMs,
    hookTimeout: testLimitMs,
    // Its defaults are one second, which is too short on a machine with other work, and 50 ms, which most states do not need.
    expect: { poll: { timeout: stepLimitMs, interval: 10 } },
    // They wait for about a third of their time.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
  },
}

export default defineConfig({
  ...common,
  test: {
    ...common.test,
    projects: Object.entries(kinds).map(([name, kind]) => ({
      extends: true as const,
      test: { name, ...kind, exclude: [...configDefaults.exclude, templates, ...kind.exclude] },
    })),
  },
})
