/** What went wrong with the provider of a company, in words for the person: cleaned, short, with the value and the next step. */
import { OAuthError, RpcError } from '@selvedge/protocol'
import { onOneLine } from '@selvedge/protocol/redaction'
import { TokenError } from '@selvedge/protocol/tokens'
import type { OpenIdLibrary } from './client.ts'

/** Characters of a foreign text that are shown. */
const maxShown = 200

const shorten = (text: string): string => {
  const line = onOneLine(text).replaceAll(/\s+/g, ' ').trim()
  return line.length > maxShown ? `${line.slice(0, maxShown)}…` : line
}

/** What a person can do about an error code of RFC 6749 § 4.1.2.1 or OpenID Connect Core § 3.1.2.6. */
const hints: Readonly<Record<string, string>> = {
  access_denied: 'Ask the administrators of your company to give you access to this application.',
  login_required: 'Sign in again.',
  temporarily_unavailable: 'Try again later.',
  server_error: 'Try again later.',
}

const administrators =
  'Show this text to the administrators of your company, or to your operator: selvedge admin company test <domain>'

/** @returns the refusal, or the cause itself if the provider has no part in it */
export function explainProvider(cause: unknown, domain: string, library: OpenIdLibrary): unknown {
  if (cause instanceof RpcError) return cause
  if (cause instanceof library.AuthorizationResponseError || cause instanceof library.ResponseBodyError) {
    const { error, error_description: description } = cause
    const said = description ? `${error}: ${description}` : String(error)
    return refused(`the provider of ${domain} answered ${shorten(said)}`, hints[String(error)])
  }
  if (cause instanceof TokenError)
    return refused(`the ID token from the provider of ${domain} is refused: ${shorten(cause.message)}`)
  if (cause instanceof library.ClientError) {
    // Without a code, there was no answer that could be wrong.
    if (cause.code === undefined || cause.code === 'OAUTH_TIMEOUT')
      return unavailable(domain, cause.cause instanceof Error ? cause.cause : cause)
    const inner = cause.cause instanceof Error ? `: ${cause.cause.message}` : ''
    return refused(`the answer of the provider of ${domain} is refused: ${shorten(cause.message + inner)}`)
  }
  if (cause instanceof OAuthError) return unavailable(domain, cause)
  return cause instanceof Error ? unavailable(domain, cause) : cause
}

export const refused = (detail: string, hint = administrators): RpcError =>
  new RpcError('credentials_invalid', detail, { hint })

/** The cause has addresses of the network of the company, and anyone may ask: only the operator's test shows it. */
export const unavailable = (domain: string, cause: Error): RpcError =>
  new RpcError('company_unavailable', `the provider of ${domain} does not answer, or cannot be used`, {
    cause,
  })
