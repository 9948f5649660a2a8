import { identityPaths, OAuthError, type TokenResponse } from '@selvedge/protocol'
import { TokenError } from '@selvedge/protocol/tokens'
import type { HotPath } from '@selvedge/service-kit/http-app'
import { parseForm, required } from '../grants/form.ts'
import type { ExchangeRequest } from '../grants/grant.ts'
import { grants } from '../grants/index.ts'

const byType = new Map(grants.map((grant) => [grant.grantType, grant]))

/** `POST /token` (RFC 6749 § 3.2). */
export function createTokenEndpoint(exchange: (request: ExchangeRequest) => Promise<TokenResponse>): HotPath {
  return {
    path: identityPaths.token,
    async answer(body, authorization) {
      if (authorization !== undefined) {
        const hint = 'projects have no secret: send client_id in the form, and no Authorization header'
        throw new OAuthError('invalid_client', hint)
      }
      const form = parseForm(body)
      const grant = byType.get(required(form, 'grant_type'))
      if (!grant) {
        const known = [...byType.keys()].join(', ')
        throw new OAuthError('unsupported_grant_type', `the grants of this service are ${known}`)
      }
      try {
        return { ...(await exchange(grant.read(form))), ...grant.extra }
      } catch (cause) {
        if (cause instanceof TokenError) throw new OAuthError(grant.tokenError, cause.message, { cause })
        throw cause
      }
    },
  }
}
