/** Failures of the interfaces: what a component gets as the error of a result, and what ends its request. */

/** Names of what `wasi:io/streams` fails with; `last-operation-failed` has the error of the stream. */
export type StreamError =
  | { readonly tag: 'closed' }
  | { readonly tag: 'last-operation-failed'; readonly val: IoError }

/** `wasi:io/error`. */
export class IoError {
  /** What the stream failed with, for `http-error-code`. */
  readonly cause: unknown
  constructor(cause?: unknown) {
    this.cause = cause
  }
  toDebugString(): string {
    return String((this.cause as Error | undefined)?.message ?? this.cause)
  }
}

/**
 * The error of a result: the transpiled code passes `payload` to the component. Anything else that an interface throws ends the request.
 */
export class Refusal<T = undefined> extends Error {
  readonly payload: T
  constructor(payload: T) {
    super('a result of an interface is an error')
    this.payload = payload
  }
}

export const closed = (): Refusal<StreamError> => new Refusal({ tag: 'closed' })

/** The error of a stream that failed. */
export const failed = (cause: unknown): Refusal<StreamError> =>
  new Refusal({ tag: 'last-operation-failed', val: new IoError(cause) })

/** A violation of an interface, or of a limit: it ends the request like a trap of WebAssembly. */
export class Trap extends Error {}

/** `exit` of `wasi:cli`. */
export class Exit extends Error {
  readonly code: number
  constructor(code: number) {
    super(`the component called exit with the code ${code}`)
    this.code = code
  }
}
