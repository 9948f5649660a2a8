/** How a daemon ends (the names of 70 and 78 are EX_SOFTWARE and EX_CONFIG of sysexits.h). */
export const exitCodes = {
  /** It was asked to stop. */
  stopped: 0,
  /** It could not start, or not stop in order, for a reason that may pass: a port in use, a full disk, an unreachable database. */
  failed: 1,
  /** An exception that nothing caught; a restart may help. */
  crashed: 70,
  /** Configuration or state that a person has to repair: a restart would end in the same way. */
  unrepairable: 78,
} as const
