import type { Fix } from '@selvedge/protocol'

/** Where a node was last, and whose it was then. */
export interface Location extends Fix {
  readonly nodeId: string
  readonly nodeName: string
  readonly accountId: string
  /** When the service got it, Unix milliseconds. */
  readonly receivedAt: number
}

/** The port that every engine for locations stands behind; one suite holds all of them to it. */
export interface LocationStore {
  /**
   * Takes locations, of one node or several. For each node the one with the latest `fixedAt` wins; of two with the same time
   * the first stays. When the promise is kept they outlive a restart.
   */
  put(locations: readonly Location[]): Promise<void>
  last(nodeId: string): Location | undefined
  close(): Promise<void>
}
