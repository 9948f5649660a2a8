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
  /** The last locations of the nodes that were an account's then. */
  ofAccount(accountId: string): Location[]
  /** Called with each location that is newer than what was known of its node, once it is durable. */
  onNews(listener: (location: Location) => void): void
  close(): Promise<void>
}
