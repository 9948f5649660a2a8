/** Waits for a time in tests, by file: how many, and why no slow machine can make the test fail. */

/** The test asserts that something does not happen: on a slow machine it notices less, and does not fail. */
const nothing = 'nothing may happen in this time'
const age = 'at least this time has to pass; more is as good'
const load = 'the time between two steps of a load; nothing is asserted of it'
const window = 'the time over which something is measured'

export const fixedWaits: Readonly<Record<string, readonly [count: number, reason: string]>> = {
  'tests/system/attacks/never-read.test.ts': [2, load],
  'tests/system/attacks/slow-start.test.ts': [1, age],
  'tests/system/discovery/cluster.test.ts': [1, age],
  'tests/system/e2e/offline.test.ts': [1, age],
  'tests/system/guards/gate/attempts.ts': [1, age],
  'tests/system/overload/connections.test.ts': [1, window],
  'tests/system/overload/run.ts': [1, window],
  'tests/system/reliability/full-disk.test.ts': [1, nothing],
  'tests/system/reliability/kills.ts': [1, load],
  'tests/system/reliability/upgrade-kills.ts': [1, load],
  'tests/system/replicas/cut-off.test.ts': [1, age],
  'tests/system/soak/run.ts': [5, window],
}
