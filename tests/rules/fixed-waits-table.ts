/** Waits for a time in tests, by file: how many, and why no slow machine can make the test fail. */

/** The test asserts that something does not happen: on a slow machine it notices less, and does not fail. */
const nothing = 'nothing may happen in this time'
const age = 'at least this time has to pass; more is as good'
const load = 'the time between two steps of a load; nothing is asserted of it'
const window = 'the time over which something is measured'

export const fixedWaits: Readonly<Record<string, readonly [count: number, reason: string]>> = {
  'apps/discovery/src/stores/cluster/late-cluster.test.ts': [2, age],
  'apps/discovery/src/stores/location-store-suite.test.ts': [1, nothing],
  'apps/runtime/src/device/account/account.test.ts': [1, nothing],
  'apps/runtime/src/location/gps/publisher.test.ts': [1, nothing],
  'apps/runtime/src/services/containers/service.test.ts': [1, nothing],
  'apps/runtime/src/services/engines/function/control-line.test.ts': [1, load],
  'apps/runtime/src/services/engines/function/output.test.ts': [1, window],
  'apps/runtime/src/services/gateway/upgrade.test.ts': [1, nothing],
  'packages/service-kit/src/http/server.test.ts': [1, age],
  'packages/service-kit/src/otel/otlp.test.ts': [1, nothing],
  'packages/service-kit/src/otel/traces.test.ts': [2, load],
  'tests/attacks/bodies.test.ts': [1, load],
  'tests/discovery/cluster.test.ts': [1, age],
  'tests/system/overload/run.ts': [1, window],
  'tests/system/reliability/kills.ts': [1, load],
  'tests/system/reliability/upgrade-kills.ts': [1, load],
  'tests/system/soak/run.ts': [5, window],
}
