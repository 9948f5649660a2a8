import { identityPaths, OAuthError } from '@selvedge/protocol'
import { describeKind, hasScope } from '@selvedge/protocol/tokens'
import { requireBinding, requireShown } from '@selvedge/service-kit/http-app'
import type { SharedDpopVerifier, TokenVerifier } from '@selvedge/service-kit/tokens'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Accounts } from '../../registry/people/accounts.ts'
import type { People } from '../../registry/people/people.ts'
import type { SignIns } from '../../registry/sign-ins/sign-ins.ts'
import { readIssuedToken } from './issued-token.ts'
import { reasonAgainst, type TokenStateParts } from './token-state.ts'

export interface UserInfoParts extends TokenStateParts {
  readonly issuer: () => string
  readonly verifier: TokenVerifier
  readonly signIns: SignIns
  readonly accounts: Accounts
  readonly people: Pick<People, 'byId'>
  readonly dpop: SharedDpopVerifier
}

function describeRefused(text: string): string {
  const found = describeKind(text)
  if (found === undefined || found.startsWith('an access token'))
    return 'the token is no access token of this service'
  return `this is ${found}; ${identityPaths.userinfo} needs an access token`
}

/** `GET` and `POST /userinfo` (OpenID Connect Core 1.0 § 5.3): the account of an access token, and the person if an app has it. Needs the scope "openid". */
export function addUserInfoEndpoint(app: FastifyInstance, parts: UserInfoParts): void {
  async function answer(request: FastifyRequest, reply: FastifyReply): Promise<object> {
    reply.header('WWW-Authenticate', 'Bearer')
    const shown = requireShown(request, 'access token')
    const { token: text } = shown
    const token = await readIssuedToken(text, parts.verifier, parts.signIns, parts.issuer())
    if (token?.kind !== 'access') throw new OAuthError('invalid_token', describeRefused(text))
    const claims = token.claims as typeof token.claims & { scope: string; cnf?: { jkt: string } }
    const reason = await reasonAgainst(token, parts)
    if (reason !== undefined)
      throw new OAuthError('invalid_token', `the access token is not valid any more: ${reason}`)
    await requireBinding({ dpop: parts.dpop, url: parts.issuer() }, shown, claims, request, reply)
    if (!hasScope(claims.scope, 'openid'))
      throw new OAuthError('invalid_token', 'the access token does not have the scope "openid"')
    reply.removeHeader('WWW-Authenticate')
    const { accountId, email } = await parts.accounts.byId(claims.account_id!)
    // A token of an app names the person who signed in; others name the account.
    const person = await parts.people.byId(claims.sub)
    return { sub: claims.sub, account_id: accountId, email: person?.email ?? email }
  }
  app.route({ method: ['GET', 'POST'], url: identityPaths.userinfo, handler: answer })
}
