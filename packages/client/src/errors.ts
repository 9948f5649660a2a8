import { type OAuthErrorCode, oauthErrors, type Reason, type RpcErrorObject } from '@selvedge/protocol'

/** A service refused the call. `reason` is one of the error catalogue. */
export class RpcFailure extends Error {
  override readonly name = 'RpcFailure'
  readonly kind = 'rpc'
  readonly reason: Reason
  readonly code: number
  readonly hint: string
  readonly retryable: boolean
  /** Under this ID the log of the service has the cause; undefined if the caller can see all of it. */
  readonly errorId: string | undefined
  constructor({ code, data }: RpcErrorObject) {
    super(data.detail)
    this.reason = data.reason
    this.code = code
    this.hint = data.hint
    this.retryable = data.retryable
    this.errorId = typeof data.errorId === 'string' ? data.errorId : undefined
  }
}

/** The identity service or the discovery service refused the request with an OAuth error. */
export class OAuthFailure extends Error {
  override readonly name = 'OAuthFailure'
  readonly kind = 'oauth'
  readonly reason: OAuthErrorCode
  readonly status: number
  constructor(reason: OAuthErrorCode, description: string, status: number) {
    super(description)
    this.reason = reason
    this.status = status
  }
}

/** The call got no valid response. This error is local: no service sends it. */
export class ConnectionFailure extends Error {
  override readonly name = 'ConnectionFailure'
  readonly kind = 'connection'
  /** `refused`: an HTTP error such as 403 or 413; its text is in the message. */
  readonly reason: 'not_running' | 'timeout' | 'aborted' | 'bad_answer' | 'refused'
  /** HTTP status of an answer that is not one of the service; undefined without one. */
  readonly status: number | undefined
  constructor(
    reason: ConnectionFailure['reason'],
    message: string,
    options?: { cause?: unknown; status?: number },
  ) {
    super(message, options)
    this.reason = reason
    this.status = options?.status
  }
}

/** Every error of a call of this library; switch on `kind`, then on `reason`. */
export type SelvedgeError = RpcFailure | OAuthFailure | ConnectionFailure
/**
 * @example
 * ```ts
 * import { createRuntimeClient, isSelvedgeError } from '@selvedge/client'
 *
 * await createRuntimeClient({ url: 'http://127.0.0.1:8083' })
 *   .getGps({ edgeAccessToken: 'not a token' })
 *   .catch((error: unknown) => console.log(isSelvedgeError(error) && error.reason))
 * ```
 */
export const isSelvedgeError = (error: unknown): error is SelvedgeError =>
  error instanceof RpcFailure || error instanceof OAuthFailure || error instanceof ConnectionFailure

export const isOAuthErrorCode = (text: unknown): text is OAuthErrorCode =>
  typeof text === 'string' && Object.hasOwn(oauthErrors, text)
