/** The messages between the runtime and the program that hosts a function: JSON in frames, over one connection. */

/** What a function learns about its surroundings as `context.info`, in the names of this API family. */
export interface ServiceInfo {
  readonly httpPort: number
  readonly nodeId: string
  readonly apiRoot: string
  readonly serviceType: string
}

/** An item without a tag has no third part, or "". */
export type StorageItem = readonly [key: string, value: string, tag?: string]

/** One change of a container's storage, small enough for one frame, or one long value as UTF-8. */
export type StorageChange =
  | { readonly set: readonly StorageItem[] }
  | { readonly remove: readonly string[] }
  | { readonly setLong: string; readonly tag?: string; readonly value: Uint8Array }

/** A change as a message. The value of `setLong` is in the frames of bytes before it. */
type ChangeMessage =
  | { readonly set: readonly StorageItem[] }
  | { readonly remove: readonly string[] }
  | { readonly setLong: string; readonly tag?: string }

export interface StartOrder {
  readonly language: 'js' | 'wasm'
  readonly env: Readonly<Record<string, string>>
  readonly info: ServiceInfo
  /** Bytes that the storage may hold. */
  readonly quota: number
  /** Path of the runtime that opens sealed lists of nodes. */
  readonly openNodesPath: string
}

/** A time at which a function is called, as its settings state it. */
export interface ScheduledEvent {
  /** The expression of `MCM.CRON` that is due. */
  readonly cron: string
  /** When it was due, Unix milliseconds. */
  readonly time: number
}

/**
 * The runtime sends `start`, then the secrets, then the storage, then the source in frames of bytes, then `load`. A `ping` is answered with `pong`
 * and its number: one that says whether the function may write, once everything that it wrote before is stored. `scheduled` is answered with
 * `ran` and its number. It comes on this line only, on which the runtime alone writes: no request can be mistaken for it.
 */
export type ToFunction =
  | { readonly start: StartOrder }
  | ChangeMessage
  | { readonly secret: string; readonly value: string }
  | { readonly load: true }
  | { readonly done: number; readonly value?: unknown }
  | { readonly failed: number; readonly reason: string }
  | { readonly ping: number; readonly mayWrite?: boolean }
  | ({ readonly scheduled: number } & ScheduledEvent)
  | { readonly stop: true }

/** The requests of the host program to the runtime; each is answered with `done` or `failed` and its number. */
export type Question = (ChangeMessage | { readonly identify: string }) & { readonly ask: number }

export type FromFunction =
  /** Its sockets are open and its permissions are given up; nothing of the function has run. */
  | { readonly listening: true }
  /** Whether the function has a handler for `scheduled`. */
  | { readonly ready: true; readonly scheduled?: true }
  | { readonly broken: string }
  | { readonly pong: number }
  /** @param failed what it failed with */
  | { readonly ran: number; readonly failed?: string }
  | Question

/** Host name of requests over the host socket. No name server may resolve it (RFC 6761 § 6.4). */
export const runtimeHost = 'runtime.invalid:80'

/** Header of the gateway that marks a client of events: see `dispatchWebSocketEvent`. */
export const eventsHeader = 'x-selvedge-events'

/** Header that names the URL a function wants to call. */
export const targetHeader = 'x-selvedge-target'

/** Header of a request that a redirect led to: `same-origin` if every step of it was on the origin of the first request. */
export const redirectedHeader = 'x-selvedge-redirected'

/** Arguments of the host program: whether functions may open TCP connections over the host socket. */
export const openSockets = 'sockets'
export const noSockets = 'no-sockets'

/** Header of a refused connection: the code of the error that the function gets, such as `ECONNREFUSED`. */
export const errorHeader = 'x-selvedge-error'

/** Header with the sentence why a request or a connection of a function is refused. */
export const refusedHeader = 'x-selvedge-refused'
