/**
 * Why an instance of a container exited although it was not to stop. The list is closed, so a reason contains no text of the program,
 * no path and no setting.
 */
const endReasons = {
  disk_full: 'it used more of the disk than its limit (MCM.ROOT_MB)',
  exited: 'its program exited',
  not_reacting: 'it did not react within its time limit (MCM.MAX_EXECUTION_TIME_SEC)',
  not_started: 'it could not be started',
  out_of_memory: 'it used more memory than its limit (MCM.MEMORY_MB)',
  unhealthy: 'its health path failed (MCM.HEALTH_PATH)',
} as const satisfies Record<string, string>

export type EndReason = keyof typeof endReasons

/** @param reason may come from a newer runtime: "" for one that this version does not know */
export const describeEndReason = (reason: string): string =>
  Object.hasOwn(endReasons, reason) ? endReasons[reason as EndReason] : ''
