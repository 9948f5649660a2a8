/** A daemon under a workload, and what of it was acknowledged. */

/** One thing that was asked of a daemon. */
export interface Step {
  readonly what: string
  /** Why it was refused, as a word; undefined where it was acknowledged. */
  readonly refused: string | undefined
}

/** A daemon under a workload. */
export interface Subject {
  /** Asks for some changes, one after the other. @param round a number that grows */
  work(round: number): Promise<Step[]>
  /** Whether its process is the one that was started. */
  isRunning(): boolean
  /** SIGKILL, and a start on the same state. */
  restart(): Promise<void>
  /** What was acknowledged and is not there, in words. */
  missing(): Promise<string[]>
  /** What it logged since it was last started. */
  errors(): string
}

/** A daemon that is its subject's own: the subject ends it. */
export interface OwnedSubject extends Subject {
  pid(): number
  stop(): Promise<void>
}

/** The word for why a call was refused. */
export const attempt = async (what: string, work: () => Promise<unknown>): Promise<Step> => {
  try {
    await work()
    return { what, refused: undefined }
  } catch (cause) {
    const { reason, message } = cause as Error & { reason?: string }
    return { what, refused: reason ?? message }
  }
}
