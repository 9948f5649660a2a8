import { identityPaths, OAuthError } from '@selvedge/protocol'
import type { AddressSet } from '@selvedge/service-kit/address-set'
import { addressOf } from '@selvedge/service-kit/http'
import { textBodyOf } from '@selvedge/service-kit/http-app'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'
import type { FastifyInstance } from 'fastify'
import type { DeveloperTokens } from '../../registry/projects/developer-tokens.ts'
import type { Revocations } from '../../registry/revocation/revocations.ts'
import type { SignIns } from '../../registry/sign-ins/sign-ins.ts'
import type { Audit } from '../../storage/audit/audit.ts'
import { parseForm, required } from '../../tokens/grants/form.ts'
import { clientOf, type IssuedToken, readIssuedToken } from './issued-token.ts'
import { withNamedClient } from './named-client.ts'

export interface RevokeParts {
  readonly issuer: () => string
  /** Believes this service's own keys only. */
  readonly verifier: TokenVerifier
  readonly signIns: SignIns
  readonly developerTokens: DeveloperTokens
  readonly revocations: Revocations
  readonly audit: Audit
  readonly trustedProxies: AddressSet
}

/** `POST /revoke` (RFC 7009), for every kind of token. The holder of a token may revoke it. A token that this service did not issue is no error (§ 2.2). */
export function addRevokeEndpoint(routes: FastifyInstance, parts: RevokeParts): void {
  routes.post(identityPaths.revoke, async (request, reply) => {
    const address = addressOf(request.raw, parts.trustedProxies)
    const form = withNamedClient(parseForm(textBodyOf(request)), request.headers.authorization)
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
    const isNews = await revoke(token)
    const { id, accountId, nodeId } = subjectOf(token)
    // A repetition changes nothing and is not recorded. A node without an account has no audit log.
    if (!isNews || accountId === '') return reply.code(200).send()
    await parts.audit.record({
      accountId,
      actor: client ?? nodeId,
      action: 'token.revoke',
      subject: id,
      address,
      outcome: 'ok',
      detail: `${token.kind} token`,
    })
    return reply.code(200).send()
  })

  /** @returns whether it was valid until now */
  async function revoke(token: IssuedToken): Promise<boolean> {
    const { revocations, signIns, developerTokens } = parts
    if (token.kind === 'refresh')
      return !revocations.isRevoked(token.signIn.sid) && (await signIns.revoke(token.signIn.sid))
    const { jti, exp, iat, sid, sub, node_id } = token.claims
    const { accountId } = subjectOf(token)
    if (token.kind === 'edge') return revocations.revokeEdge(node_id!, iat, { endsAt: exp, accountId: sub })
    if (token.kind === 'access' || token.kind === 'lease')
      return revocations.revokeId(jti, {
        endsAt: exp,
        accountId,
        checkedUntil: node_id === undefined ? 0 : exp,
      })
    // Tokens of a sign-in are not stored individually, and access tokens from them contain the ID of the sign-in.
    if (sid === undefined && (await developerTokens.find(jti)))
      return !revocations.isRevoked(jti) && (await developerTokens.revoke(jti)).isNews
    const what = { endsAt: exp, accountId }
    return revocations.revokeId(jti, sid === undefined ? what : { ...what, checkedUntil: 0 })
  }
}

/** A token, its account, and its node, for the audit log: "" if it has no account or node. */
function subjectOf(token: IssuedToken): { id: string; accountId: string; nodeId: string } {
  if (token.kind === 'refresh') {
    const { sid: id, accountId, nodeId } = token.signIn
    return { id, accountId, nodeId }
  }
  const { jti: id, sub, account_id: accountId = sub, node_id: nodeId = '' } = token.claims
  return { id, accountId, nodeId }
}
