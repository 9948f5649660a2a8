/** Errors of the identity service: RFC 6749 § 5.2, RFC 8628 § 3.5, RFC 8693 § 2.2.2, RFC 8707 § 2, RFC 9449 §§ 5 and 8. */
export const oauthErrors = {
  invalid_request: {
    status: 400,
    meaning: 'A field is missing, empty, repeated or malformed; the description names it.',
  },
  invalid_client: { status: 401, meaning: 'No active project has this client_id.' },
  unauthorized_client: { status: 400, meaning: 'The project may not use this grant.' },
  invalid_grant: {
    status: 400,
    meaning: 'One of the two tokens is not accepted; the description says which and why.',
  },
  unsupported_grant_type: { status: 400, meaning: 'The service has no such grant.' },
  invalid_scope: { status: 400, meaning: 'A scope is unknown, or the project may not have it.' },
  invalid_target: { status: 400, meaning: 'The resource or audience is not one of the project.' },
  access_denied: {
    status: 403,
    meaning: 'The node is blocked, or has no enrolment code where one is needed.',
  },
  use_dpop_nonce: { status: 400, meaning: 'Repeat the request with the nonce of the DPoP-Nonce header.' },
  invalid_dpop_proof: {
    status: 400,
    meaning: 'The DPoP proof is missing, malformed, replayed or of another request.',
  },
  invalid_token: { status: 401, meaning: 'The token in the Authorization header is not accepted.' },
  insufficient_scope: { status: 403, meaning: 'The token lacks a scope; the description names it.' },
  authorization_pending: {
    status: 400,
    meaning: 'Nobody has decided on the sign-in yet. Poll again after the interval.',
  },
  slow_down: {
    status: 400,
    meaning: 'The poll came too early; the interval is 5 seconds longer from now on.',
  },
  expired_token: { status: 400, meaning: 'The device code has ended. Begin the sign-in again.' },
  unsupported_token_type: { status: 400, meaning: 'The service issues no tokens of this kind.' },
  temporarily_unavailable: {
    status: 429,
    meaning:
      'Too many requests, or with status 503: the service cannot decide now. The Retry-After header says after how many seconds to try again.',
  },
  not_found: { status: 404, meaning: 'There is no such thing, or it is not for the account of the token.' },
  server_error: { status: 500, meaning: 'The service failed; its log has the cause.' },
} as const satisfies Record<string, { status: number; meaning: string }>

export type OAuthErrorCode = keyof typeof oauthErrors

/** A refusal in OAuth's words. `message` is sent as `error_description`. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError'
  readonly code: OAuthErrorCode
  /** Seconds after which the same request may succeed. */
  readonly retryAfter: number | undefined
  readonly status: number
  /** @param options `status`: the HTTP status, if it is not that of the table */
  constructor(
    code: OAuthErrorCode,
    description: string,
    options?: { readonly cause?: unknown; readonly retryAfter?: number; readonly status?: number },
  ) {
    super(description, options)
    this.code = code
    this.retryAfter = options?.retryAfter
    this.status = options?.status ?? oauthErrors[code].status
  }
}
