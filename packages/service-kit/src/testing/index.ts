/** Fakes for tests: a clock that tests set, a log and a database in memory, a disk that fails. */
import type { SteadyClock } from '../clock/clock.ts'
import { createLog, type Log } from '../log/index.ts'

export { createDiskFaults, type DiskFaults } from './disk-faults.ts'
export { freePort } from './free-port.ts'
export { openMemoryStore } from './memory-store.ts'
export { findPostgres, type PostgresServer, startPostgres } from './postgres.ts'
export { type RecordedSyncs, recordSyncs } from './record-syncs.ts'
export { findRedis, type RedisCluster, startRedisCluster } from './redis.ts'

export interface FakeClock extends SteadyClock {
  set(milliseconds: number): void
  advance(milliseconds: number): void
}

export function createFakeClock(start = Date.parse('2026-01-01T00:00:00Z')): FakeClock {
  let time = start
  return {
    now: () => time,
    steady: () => time,
    past: () => time,
    set: (milliseconds) => {
      time = milliseconds
    },
    advance: (milliseconds) => {
      time += milliseconds
    },
  }
}

export function createMemoryLog(): Log & { readonly lines: string[] } {
  const lines: string[] = []
  return {
    ...createLog({ service: 'test', level: 'debug', now: () => 0 }, (line) => lines.push(line)),
    lines,
  }
}
