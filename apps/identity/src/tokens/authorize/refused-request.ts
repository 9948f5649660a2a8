import type { OAuthError } from '@selvedge/protocol'

/** The address of the answer to an authorization request: known only after the redirect URI was found to be one of the client. */
export interface ReturnAddress {
  readonly redirectUri: string
  /** As the request had it; undefined: without one. */
  readonly state: string | undefined
}

/** An authorization request that is refused. Without `returnTo` the person sees the reason, and the app gets no answer. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest'
  readonly error: OAuthError
  readonly returnTo: ReturnAddress | undefined
  constructor(error: OAuthError, returnTo?: ReturnAddress) {
    super(error.message, { cause: error })
    this.error = error
    this.returnTo = returnTo
  }
}

/**
 * The URL of an answer (RFC 6749 § 4.1.2). `iss` names the service that answers (RFC 9207), so that an app that uses several sends no
 * code to the wrong one.
 */
export function answerUrl(
  { redirectUri, state }: ReturnAddress,
  issuer: string,
  answer: { readonly code: string } | { readonly error: OAuthError },
): string {
  const members = new URLSearchParams(
    'code' in answer
      ? { code: answer.code }
      : { error: answer.error.code, error_description: plain(answer.error.message) },
  )
  if (state !== undefined) members.set('state', state)
  members.set('iss', issuer)
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${members}`
}

/** RFC 6749 § 4.1.2.1 allows printable ASCII without `"` and `\`. */
const plain = (text: string): string => text.replaceAll('"', "'").replaceAll(/\\|[^\x20-\x7e]/g, '?')
