import { catalogue, messages, type Reason } from './catalogue.ts'

/** The `error` member of a JSON-RPC response. */
export interface RpcErrorObject {
  readonly code: number
  readonly message: string
  readonly data: {
    readonly reason: Reason
    readonly detail: string
    readonly hint: string
    readonly retryable: boolean
    /** Only with `internal_error` and failures of the storage: the ID under which the log has the cause. */
    readonly errorId?: string
  }
}

/**
 * An error of the catalogue. Throw it from a handler; the dispatcher sends it to the caller.
 *
 * @example
 * ```ts
 * import { RpcError } from '@selvedge/protocol'
 *
 * const error = new RpcError('not_found', 'there is no image "hello"')
 * console.log(error.toObject().code) // -32004
 * ```
 */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly reason: Reason
  readonly hint: string

  /**
   * @param reason row of the catalogue
   * @param detail what was wrong, with the value; it is sent to the caller
   * @param options `hint` replaces the catalogue's, `cause` stays in the log
   */
  constructor(reason: Reason, detail: string, options: { hint?: string; cause?: unknown } = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause })
    this.reason = reason
    this.hint = options.hint ?? catalogue[reason].hint
  }

  toObject(errorId?: string): RpcErrorObject {
    const { code, retryable } = catalogue[this.reason]
    const data = { reason: this.reason, detail: this.message, hint: this.hint, retryable }
    return { code, message: messages[code], data: errorId === undefined ? data : { ...data, errorId } }
  }
}
