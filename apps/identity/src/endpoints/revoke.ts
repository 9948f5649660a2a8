import { identityPaths, OAuthError } from '@selvedge/protocol'
import { addressOf } from '@selvedge/service-kit/http'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'
import type { FastifyInstance } from 'fastify'
import type { Audit } from '../audit/audit.ts'
import { parseForm, required } from '../grants/form.ts'
import type { SignIns } from '../grants/sign-ins.ts'
import type { DeveloperTokens } from '../registry/developer-tokens.ts'
import type { Revocations } from '../revocation/revocations.ts'
import { clientOf, type IssuedToken, readIssuedToken } from './issued-token.ts'
import { refuseSecret } from './token.ts'

export interface RevokeParts {
  readonly issuer: () => string
  /** Believes this service's own keys only. */
  readonly verifier: TokenVerifier
  readonly signIns: SignIns
  readonly developerTokens: DeveloperTokens
  readonly revocations: Revocations
  readonly audit: Audit
  readonly trustedProxies: readonly string[]
}

/** `POST /revoke` (RFC 7009), for every kind of token. Who has a token may end it; a token that is none of ours is no error (§ 2.2). */
export function addRevokeEndpoint(routes: FastifyInstance, parts: RevokeParts): void {
  routes.post(identityPaths.revoke, async (request, reply) => {
    const address = addressOf(request.raw, parts.trustedProxies)
    refuseSecret(request.headers.authorization)
    const form = parseForm(request.body as string)
    const token = await readIssuedToken(
      required(form, 'token'),
      parts.verifier,
      parts.signIns,
      parts.issuer(),
    )
    if (!token) return reply.code(200).send()
    const client = clientOf(token)
    if (client !== undefined && required(form, 'client_id') !== client)
      throw new OAuthError('invalid_grant', 'the token was issued to another client')
    await revoke(token)
    const claims = token.kind === 'refresh' ? undefined : token.claims
    await parts.audit.record({
      accountId:
        token.kind === 'refresh' ? token.signIn.accountId : (claims?.account_id ?? claims?.sub ?? ''),
      actor: client ?? claims?.node_id ?? '',
      action: 'token.revoke',
      subject: token.kind === 'refresh' ? token.signIn.sid : token.claims.jti,
      address,
      outcome: 'ok',
      detail: `${token.kind} token`,
    })
    return reply.code(200).send()
  })

  async function revoke(token: IssuedToken): Promise<void> {
    if (token.kind === 'refresh') return parts.signIns.revoke(token.signIn.sid)
    const { jti, exp } = token.claims
    // Tokens of a sign-in are not kept one by one.
    const isKept = token.kind === 'developer' && (await parts.developerTokens.find(jti))
    if (isKept) await parts.developerTokens.revoke(jti)
    else await parts.revocations.revokeId(jti, exp)
  }
}
