/** Waits for a time in tests, by file: how many, and why no slow machine can make the test fail. */

const age = 'at least this time has to pass; more is as good'
const load = 'the time between two steps of a load; nothing is asserted of it'
const window = 'the time over which something is measured'

export const fixedWaits: Readonly<Record<string, readonly [count: number, reason: string]>> = {
  'apps/runtime/src/device/cloud/return-watch.test.ts': [1, 'the timers are not real'],
  'packages/client/src/node/network/open-tcp.test.ts': [2, age],
  'packages/client/src/node/start-request.test.ts': [1, age],
  'tests/system/discovery/cluster.test.ts': [1, age],
  'tests/system/network/metered.test.ts': [1, window],
  'tests/system/overload/run.ts': [1, window],
  'tests/system/pulls/pull.ts': [2, 'how long a registry is down, and the limit of a pull in the campaign'],
  'tests/system/reliability/kills.ts': [1, load],
  'tests/system/reliability/upgrade-kills.ts': [1, load],
  'tests/system/soak/run.ts': [5, window],
}
