/** The local API, as the services of this device reach it. The API itself sets it: services exist before it does. */
import type { IncomingMessage, RequestListener } from 'node:http'
import type { ContainerSettings } from '@selvedge/protocol'

/** One instance that calls. There is one object for each instance, for as long as its socket is open. */
export interface CallingService {
  /** Id of its container, as callers know it. */
  readonly id: string
  readonly settings: ContainerSettings
  /** A name for the instance that no other one ever has. */
  readonly instance: string
  /** Counts one more call of a batch against the limit of the instance. @throws RpcError `busy` */
  countCall(): void
}

/** Answers the requests of one instance. */
export interface ServiceRequests {
  /** Whether a path, with its query, belongs to the API. */
  owns(path: string): boolean
  readonly request: RequestListener
  /** Answers `hostPaths.openNodes`. @throws RpcError */
  openNodes(body: unknown, request: IncomingMessage): Promise<unknown>
}

export type OpenServiceApi = (service: CallingService) => ServiceRequests
