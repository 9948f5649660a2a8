/** The event `scheduled`, for the times of `MCM.CRON`. */

/** A time at which the function is called. */
export interface ScheduledEvent {
  readonly type: 'scheduled'
  /** The expression of `MCM.CRON` that is due, as it was written. */
  readonly cron: string
  /** When it was due, Unix milliseconds. The run may begin later. */
  readonly scheduledTime: number
  /** For code of other platforms; does nothing, as no run is repeated. */
  noRetry(): void
}

/** What a handler for `scheduled` gets in addition. */
export interface WaitUntil {
  /** The run lasts until the promise settles, and has failed if it rejects. */
  readonly waitUntil: (promise: Promise<unknown>) => void
}
