/** Why a connection through the network of a company could not be opened, with what to do about it. */

/** The faults of a certificate of a server. */
export const certificateReasons = [
  'certificate_expired',
  'certificate_not_yet_valid',
  'certificate_name',
  'certificate_untrusted',
  'certificate_incomplete',
] as const

/**
 * What failed. A reason with `proxy_` is about the proxy, one with `certificate_` about the certificate of a server. With `no_tls` and
 * `sign_in_page`, something else than the service answers.
 */
type NetworkReason =
  | 'proxy_unreachable'
  | 'proxy_timeout'
  | 'proxy_credentials'
  | 'proxy_refused'
  | 'proxy_sign_in_page'
  | 'proxy_answer'
  | (typeof certificateReasons)[number]
  | 'client_certificate'
  | 'no_tls'
  | 'sign_in_page'

/** The message names the proxy or the server, the value that was wrong, and the next step. It has no password. */
export class NetworkFailure extends Error {
  override readonly name = 'NetworkFailure'
  readonly reason: NetworkReason
  /** A code of Node, where the same connection may succeed later; else the reason. */
  readonly code: string
  constructor(reason: NetworkReason, message: string, code: string = reason) {
    super(message)
    this.reason = reason
    this.code = code
  }
}

/** A setting of the network that cannot be used: the message names the setting and what was expected. */
export class NetworkSettingError extends Error {
  override readonly name = 'NetworkSettingError'
}

/** Text of another machine for a message: printable ASCII, at most so many characters. */
export const shownText = (text: string, maxLength = 200): string =>
  text.slice(0, maxLength).replaceAll(/[^\x20-\x7e]/g, '?')
