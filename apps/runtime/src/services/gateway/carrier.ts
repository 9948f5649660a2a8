import type { ResponseEvents } from './response-reader.ts'

/** The request that a carrier carries, and what becomes of it. */
export interface CarrierUser extends ResponseEvents {
  /** The connection closed. */
  gone(cause?: Error): void
  /** The answer could not be passed on. */
  failed(cause: Error): void
}

/** Carries one request to an instance, and its answer back. */
export interface Carrier {
  /** Whether its connection carried an earlier request: the instance may have closed it at the same moment. */
  readonly isReused: boolean
  /** Whether a head is passed on at once: a client of gRPC may wait for it before it sends more. */
  readonly passesHeadsAtOnce: boolean
  /** Sends the request. */
  start(user: CarrierUser): void
  /** Reads no more of the answer until `resume`. */
  pause(): void
  resume(): void
  /** Releases what it holds; what is not complete is cut off. @param isReusable whether its connection may carry another request */
  end(isReusable: boolean): void
}
