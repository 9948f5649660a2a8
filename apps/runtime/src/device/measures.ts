import type { DocumentStore } from '@selvedge/service-kit/store'

/** What groups report to the metrics. Without metrics it does nothing. */
export interface Measures {
  readonly document: <T>(name: 'state' | 'deployments', store: DocumentStore<T>) => DocumentStore<T>
  /** Changes that wait until a document is written. */
  readonly changesUnderWay: () => number
  /** @param event such as `restarted` */
  readonly containerEvent: (event: string) => void
}
