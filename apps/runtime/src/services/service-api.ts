/** The local API, as the services of this device reach it. The API itself sets it: services exist before it does. */
import type { RequestListener } from 'node:http'
import type { ContainerSettings } from '@selvedge/protocol'

/** One instance that calls. There is one object for each instance, for as long as its socket is open. */
export interface CallingService {
  /** Id of its container, as callers know it. */
  readonly id: string
  readonly settings: ContainerSettings
  /** Counts one more call of a batch against the limit of the instance. @throws RpcError `busy` */
  countCall(): void
}

/** Answers the requests of one instance. */
export interface ServiceRequests {
  /** Whether a path, with its query, belongs to the API. */
  owns(path: string): boolean
  readonly request: RequestListener
}

export type OpenServiceApi = (service: CallingService) => ServiceRequests
