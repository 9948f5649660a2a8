/**
 * `POST /account/api`: what an owner does to shares, groups and join keys from the command line. JSON-RPC with a developer ID token of a sign-in that a
 * person approved for the command line or a project of the account, and that may change services. Tokens of apps are refused, and cookies
 * play no part.
 */
import { cliClientId, identityPaths, OAuthError, RpcError } from '@selvedge/protocol'
import { type AccountApiMethods, accountApiMethods } from '@selvedge/protocol/console'
import { createDispatcher, type HandlersOf } from '@selvedge/protocol/jsonrpc'
import { hasScope } from '@selvedge/protocol/tokens'
import type { AddressSet } from '@selvedge/service-kit/address-set'
import { addressOf, requestIdOf } from '@selvedge/service-kit/http'
import { requireShown, textBodyOf } from '@selvedge/service-kit/http-app'
import { errorIdOf, type Log } from '@selvedge/service-kit/log'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'
import type { FastifyInstance } from 'fastify'
import type { People } from '../../registry/people/people.ts'
import type { SignIns } from '../../registry/sign-ins/sign-ins.ts'
import type { Limits } from '../../tokens/grants/limits.ts'
import type { Actor } from '../console/context.ts'
import { explainFailure } from '../explain-failure.ts'
import { clientOf, readIssuedToken } from './issued-token.ts'
import { reasonAgainst, type TokenStateParts } from './token-state.ts'

export interface AccountApiParts extends TokenStateParts {
  /** The same as those of the console. */
  readonly handlers: HandlersOf<AccountApiMethods, { person: Actor }, { readonly address: string }>
  readonly issuer: () => string
  readonly verifier: TokenVerifier
  readonly signIns: SignIns
  readonly people: Pick<People, 'ofSignIn' | 'memberships'>
  readonly limits: Pick<Limits, 'takeFor'>
  readonly trustedProxies: AddressSet
  readonly log: Log
}

interface Context {
  readonly requestId: string
  readonly address: string
  readonly actor: Actor
}

export function addAccountApi(app: FastifyInstance, parts: AccountApiParts): void {
  const dispatcher = createDispatcher<AccountApiMethods, { person: Actor }, Context>({
    methods: accountApiMethods,
    handlers: parts.handlers,
    checks: { person: (_method, _readParams, { actor }) => expectOwner(actor) },
    mirror: false,
    limits: { depth: 32, batch: 1, isStored: true },
    explain: explainFailure,
    onInternalError: (method, cause, context) =>
      errorIdOf(parts.log, 'a method of the account failed', {
        method,
        requestId: context?.requestId,
        cause,
      }),
  })
  const identify = createIdentify(parts)

  app.post(identityPaths.accountApi, async (request, reply) => {
    reply.header('WWW-Authenticate', 'Bearer')
    const { token } = requireShown(request, 'developer ID token')
    const actor = await identify(token)
    reply.removeHeader('WWW-Authenticate')
    const context = {
      requestId: requestIdOf(request.raw),
      address: addressOf(request.raw, parts.trustedProxies),
      actor,
    }
    const answer = await dispatcher.dispatch(textBodyOf(request), context)
    return answer === undefined ? reply.code(204).send() : reply.type('application/json').send(answer)
  })
}

function expectOwner(actor: Actor): Actor {
  if (actor.membership.role === 'owner') return actor
  throw new RpcError('forbidden', 'this is for owners of the account; you are a member')
}

/** @returns who signed in with the command line @throws OAuthError `invalid_token` */
function createIdentify(parts: AccountApiParts): (token: string) => Promise<Actor> {
  return async (text) => {
    const token = await readIssuedToken(text, parts.verifier, parts.signIns, parts.issuer())
    if (token?.kind !== 'developer')
      throw new OAuthError(
        'invalid_token',
        'the token is no developer ID token: sign in with "selvedge login"',
      )
    const reason = await reasonAgainst(token, parts)
    if (reason !== undefined) throw new OAuthError('invalid_token', `the token is not valid: ${reason}`)
    const { sid, account_id: accountId, scope } = token.claims as typeof token.claims & { scope?: string }
    const clientId = clientOf(token)!
    if (scope === undefined || !hasScope(scope, 'edge:mcm'))
      throw new OAuthError('invalid_token', 'the sign-in does not have the scope "edge:mcm"')
    if (clientId !== cliClientId && (await parts.projects.find(clientId))?.accountId !== accountId)
      throw new OAuthError('invalid_token', 'the sign-in is for a project of another account')
    const person = sid === undefined ? undefined : await parts.people.ofSignIn(sid)
    const memberships = person ? await parts.people.memberships(person.personId) : []
    const membership = memberships.find((each) => each.accountId === accountId)
    if (!person || !membership)
      throw new OAuthError('invalid_token', 'the token is of no person of the account any more')
    parts.limits.takeFor(clientId, membership.accountId)
    return { person, membership }
  }
}
