/**
 * Errors of the identity service: RFC 6749 §§ 4.1.2.1 and 5.2, RFC 8628 § 3.5, RFC 8693 § 2.2.2, RFC 8707 § 2, RFC 9449 §§ 5 and 8,
 * OpenID Connect Core 1.0 § 3.1.2.6.
 */
export const oauthErrors = {
  invalid_request: {
    status: 400,
    meaning: 'A field is missing, empty, repeated or malformed; the description names it.',
  },
  invalid_client: { status: 401, meaning: 'No active project has this client_id.' },
  unauthorized_client: { status: 400, meaning: 'The project may not use this grant.' },
  invalid_grant: {
    status: 400,
    meaning: 'A token, code or link is not accepted. The description names it and the reason.',
  },
  unsupported_grant_type: { status: 400, meaning: 'The service does not support this grant type.' },
  invalid_scope: { status: 400, meaning: 'A scope is unknown, or the project may not request it.' },
  invalid_target: { status: 400, meaning: 'The resource or audience is not listed in the project.' },
  access_denied: {
    status: 403,
    meaning:
      'The node is blocked, the code that enrolment needs is missing, or the person refused the request of an app.',
  },
  use_dpop_nonce: { status: 400, meaning: 'Repeat the request with the nonce from the DPoP-Nonce header.' },
  invalid_dpop_proof: {
    status: 400,
    meaning: 'The DPoP proof is missing, malformed, replayed, or was made for another request.',
  },
  invalid_token: { status: 401, meaning: 'The token in the Authorization header is not accepted.' },
  insufficient_scope: {
    status: 403,
    meaning: 'The token does not have the scope that the description names.',
  },
  authorization_pending: {
    status: 400,
    meaning: 'The sign-in was not approved or refused yet. Poll again after the interval.',
  },
  slow_down: {
    status: 400,
    meaning: 'The client polls too fast. Add 5 seconds to the interval.',
  },
  expired_token: { status: 400, meaning: 'The device code has expired. Start the sign-in again.' },
  unsupported_response_type: { status: 400, meaning: 'The response_type of an authorization is not "code".' },
  login_required: {
    status: 400,
    meaning: 'The request allows no question to the person ("prompt"), who has to sign in first.',
  },
  consent_required: {
    status: 400,
    meaning: 'The request allows no question to the person ("prompt"), who has to approve the app first.',
  },
  request_not_supported: {
    status: 400,
    meaning: 'The parameter "request" is not supported; push the request to /par.',
  },
  request_uri_not_supported: {
    status: 400,
    meaning: 'The "request_uri" is not one that /par has returned.',
  },
  invalid_request_uri: {
    status: 400,
    meaning: 'The "request_uri" has expired, was used, or belongs to another client.',
  },
  registration_not_supported: { status: 400, meaning: 'The parameter "registration" is not supported.' },
  unsupported_token_type: { status: 400, meaning: 'The service cannot revoke tokens of this type.' },
  temporarily_unavailable: {
    status: 429,
    meaning:
      'Too many requests; with status 503, the service is temporarily unavailable. Retry after the seconds in the Retry-After header.',
  },
  not_found: { status: 404, meaning: 'The item does not exist, or the account of the token may not see it.' },
  server_error: { status: 500, meaning: 'The service failed. Its log has the cause.' },
} as const satisfies Record<string, { status: number; meaning: string }>

export type OAuthErrorCode = keyof typeof oauthErrors

/** An error response of OAuth. `message` is sent as `error_description`. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError'
  readonly code: OAuthErrorCode
  /** Seconds after which the same request may succeed. */
  readonly retryAfter: number | undefined
  readonly status: number
  /** @param options `status`: the HTTP status, if it differs from the table's */
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
