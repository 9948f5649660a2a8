/** When an instance that fails its health checks is stopped. Pure: the state after a check depends only on the state before it. */
import type { ContainerRecord } from '@selvedge/protocol'

/** Milliseconds between two health checks of an instance. */
const intervalMs = 30_000
/** Failed checks in a row after which an instance is stopped. */
export const maxFailedChecks = 3

export interface HealthState {
  readonly health: ContainerRecord['health']
  /** Failed checks in a row. */
  readonly failedChecks: number
  /** Monotonic milliseconds. */
  readonly lastCheck: number
}

/** The health of an instance that starts to serve. One with a health path was checked before. */
export const initialHealth = (hasHealthPath: boolean, now: number): HealthState => ({
  health: hasHealthPath ? 'healthy' : 'unknown',
  failedChecks: 0,
  lastCheck: now,
})

export const isCheckDue = ({ lastCheck }: HealthState, now: number): boolean => now - lastCheck >= intervalMs

export const afterCheck = (before: HealthState, isHealthy: boolean): HealthState => ({
  ...before,
  health: isHealthy ? 'healthy' : 'unhealthy',
  failedChecks: isHealthy ? 0 : before.failedChecks + 1,
})

export const mustEnd = ({ failedChecks }: HealthState): boolean => failedChecks >= maxFailedChecks
