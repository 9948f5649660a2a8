/** The parameters of the programs of a soak, as JSON in their first argument. */
export interface Plan {
  readonly runtime: string
  readonly identity: string
  readonly discovery: string
  readonly token: string
  readonly clientId: string
  readonly developerToken: string
  /** Path of the function that behaves. */
  readonly goodPath: string
  /** An image to deploy: that of the function that behaves. */
  readonly image: string
  /** Path of the function whose answers and WebSockets have no end. */
  readonly pouringPath: string
  /** Paths of those that do harm. */
  readonly hostilePaths: readonly string[]
  /** Ids of containers with a log. */
  readonly loud: readonly string[]
}

export const readPlan = (): Plan => JSON.parse(process.argv[2]!) as Plan

/** Counts by kind, sent to the parent every second and set to zero. */
export type Counts = Record<string, number>

/** Sends counts each second for as long as the parent is there. */
export function sendCounts(counts: Counts): void {
  setInterval(() => {
    process.send?.({ ...counts })
    for (const name of Object.keys(counts)) counts[name] = 0
  }, 1000)
  process.on('disconnect', () => process.exit(0))
}
