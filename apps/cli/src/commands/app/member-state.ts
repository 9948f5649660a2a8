import type { AppRecord } from '@selvedge/protocol'

/** @returns such as `running`, or `completed with exit code 0 at 2026-01-01T03:00:00.000Z` */
export function memberState(container: AppRecord['members'][number]['container']): string {
  if (!container) return 'missing'
  const { state, completed } = container
  return completed ? `${state} with exit code ${completed.exitCode} at ${completed.at}` : state
}
