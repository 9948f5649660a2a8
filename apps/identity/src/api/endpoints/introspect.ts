import { identityPaths } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { textBodyOf } from '@selvedge/service-kit/http-app'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'
import type { FastifyInstance } from 'fastify'
import type { Nodes } from '../../registry/nodes/nodes.ts'
import type { Projects } from '../../registry/projects/projects.ts'
import type { Revocations } from '../../registry/revocation/revocations.ts'
import type { SignIn, SignIns } from '../../registry/sign-ins/sign-ins.ts'
import { parseForm, required } from '../../tokens/grants/form.ts'
import { revocableOf } from '../../tokens/grants/refresh-token.ts'
import { clientOf, type IssuedToken, readIssuedToken } from './issued-token.ts'
import { withNamedClient } from './named-client.ts'
import { reasonAgainst } from './token-state.ts'

export interface IntrospectParts {
  readonly clock: Clock
  readonly issuer: () => string
  /** Believes this service's own keys only. */
  readonly verifier: TokenVerifier
  readonly signIns: SignIns
  readonly revocations: Revocations
  readonly projects: Projects
  readonly nodes: Nodes
}

const inactive = { active: false } as const

/**
 * `POST /introspect` (RFC 7662), for every kind of token. Clients have no secrets, so what authorizes the caller is the token
 * itself, which cannot be guessed, together with the client that it was issued to: a client learns nothing about another's tokens.
 */
export function addIntrospectEndpoint(routes: FastifyInstance, parts: IntrospectParts): void {
  const { revocations, signIns } = parts
  routes.post(identityPaths.introspect, async (request): Promise<object> => {
    const form = withNamedClient(parseForm(textBodyOf(request)), request.headers.authorization)
    const token = await readIssuedToken(required(form, 'token'), parts.verifier, signIns, parts.issuer())
    // A lease is for one runtime: no other service may accept it.
    if (!token || token.kind === 'lease') return inactive
    const client = clientOf(token)
    if (client !== undefined && form.get('client_id') !== client) return inactive
    if (token.kind === 'refresh') return describeRefresh(token.signIn, form.get('token')!)
    return (await reasonAgainst(token, parts)) === undefined ? describe(token) : inactive
  })

  function describe({ kind, claims }: Exclude<IssuedToken, { kind: 'refresh' }>): object {
    const client = kind === 'developer' ? { client_id: claims.aud as string } : {}
    const bound = (claims as { cnf?: object }).cnf !== undefined
    const type = kind === 'access' ? (bound ? 'DPoP' : 'Bearer') : 'N_A'
    return { active: true, token_type: type, ...client, ...claims }
  }

  async function describeRefresh(signIn: SignIn, token: string): Promise<object> {
    if (!(await parts.projects.find(signIn.clientId))?.active) return inactive
    const { accountId, scope, expiresAt, jkt } = signIn
    const claims = revocableOf(signIn)
    if (!(await signIns.isCurrent(token)) || revocations.reasonFor(claims) !== undefined) return inactive
    const exp = Math.floor(expiresAt / 1000)
    return {
      active: true,
      token_type: 'N_A',
      iss: parts.issuer(),
      sub: accountId,
      scope,
      exp,
      ...claims,
      ...(jkt !== '' && { cnf: { jkt } }),
    }
  }
}
