import { identityPaths, OAuthError, type TokenResponse } from '@selvedge/protocol'
import { TokenError } from '@selvedge/protocol/tokens'
import type { FastifyInstance } from 'fastify'
import type { ExchangeRequest } from '../grants/grant.ts'
import { grants } from '../grants/index.ts'
import { parseForm, required } from './form.ts'

const byType = new Map(grants.map((grant) => [grant.grantType, grant]))

/** `POST /token` (RFC 6749 § 3.2). The body arrives as text; see the form parser of the composition root. */
export function addTokenEndpoint(
  app: FastifyInstance,
  exchange: (request: ExchangeRequest) => Promise<TokenResponse>,
): void {
  app.post(identityPaths.token, async (request) => {
    if (request.headers.authorization !== undefined) {
      throw new OAuthError(
        'invalid_client',
        'projects have no secret: send client_id in the form, and no Authorization header',
      )
    }
    const form = parseForm(request.body as string)
    const grantType = required(form, 'grant_type')
    const grant = byType.get(grantType)
    if (!grant) {
      throw new OAuthError(
        'unsupported_grant_type',
        `the grants of this service are ${[...byType.keys()].join(', ')}`,
      )
    }
    try {
      return { ...(await exchange(grant.read(form))), ...grant.extra }
    } catch (cause) {
      if (cause instanceof TokenError) throw new OAuthError(grant.tokenError, cause.message, { cause })
      throw cause
    }
  })
}
