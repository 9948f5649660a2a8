import { OAuthError } from '@selvedge/protocol'
import { parseJson } from '@selvedge/protocol/jsonrpc'

/** A body as JSON, read strictly. @throws OAuthError `invalid_request` */
export function readJson(body: string): unknown {
  try {
    return parseJson(body, 5)
  } catch (cause) {
    throw new OAuthError('invalid_request', `the body is not JSON: ${(cause as Error).message}`, { cause })
  }
}
