import { RpcError } from '@selvedge/protocol'
import { type ShownToken, schemeProblem, tokenRpcError } from '@selvedge/protocol/tokens'
import type {
  Authorize,
  ExpectStillValid,
  KeepUnrevoked,
  NeededToken,
} from '../../device/tokens/authorize.ts'
import type { ProvenRequest } from '../../device/tokens/proof.ts'
import type { Route } from '../containers/views.ts'
import type { ServiceIdentity } from './service-identity.ts'
import { createReadUser, type User } from './users.ts'

/** The caller, as the headers to the service name it. */
export interface Caller {
  readonly account: string
  readonly client: string
  readonly scope: string
  /** Id of the container that calls, or "". */
  readonly container: string
  /** The person, for a service with `MCM.ACCESS: "users"` only. */
  readonly user?: User
}

/** A caller that was let through. */
export interface Admitted extends Caller {
  /** Whether the token is still valid. @throws RpcError */
  expectStillValid(): void
}

/**
 * Lets a request through to a service, or throws: the token must be of this node, of the associated account, of the account
 * that deployed the service, and of its project if the service requires that. A service for users lets people in who signed in to the
 * app of its project: those of the account, and those with a share. Only the `Authorization` header counts: a cookie
 * would let any page call.
 *
 * @returns undefined if the service is public
 * @throws RpcError
 */
export type Admit = (route: Route, request: ProvenRequest) => Admitted | undefined | Promise<Admitted>

/** What a request to a service needs, unless its settings open it. */
const callService: NeededToken = { caller: 'token', token: 'associated' }
const callAsUser: NeededToken = { caller: 'token', token: 'user' }

export interface AdmitParts {
  readonly authorize: Authorize
  readonly expectStillValid: ExpectStillValid
  readonly keepUnrevoked: KeepUnrevoked
  readonly identity: ServiceIdentity
  /** Unix milliseconds. */
  readonly now: () => number
}

export function createAdmit(parts: AdmitParts): Admit {
  const { authorize, expectStillValid, identity } = parts
  const readUser = createReadUser(parts)

  async function checkService({ scheme, token }: ShownToken, id: string): Promise<Admitted> {
    const problem = schemeProblem(scheme, {})
    if (problem !== undefined) throw new RpcError('invalid_dpop_proof', problem)
    const claims = await verified(() => identity.verify(token, id))
    return { ...fromService(claims), expectStillValid: () => identity.expectUnexpired(claims) }
  }

  async function checkToken(token: string, id: string, request: ProvenRequest): Promise<Admitted> {
    const claims = await authorize(token, callService, request, `the service ${id}`)
    return { ...fromToken(claims), expectStillValid: () => expectStillValid(claims, callService) }
  }

  async function checkUser(route: Route, { token }: ShownToken, request: ProvenRequest): Promise<Admitted> {
    if (identity.isOwn(token))
      throw new RpcError('forbidden', `the service ${route.id} is for people, and another service calls it`)
    const claims = await authorize(token, callAsUser, request, `the service ${route.id}`)
    return {
      ...fromToken(claims),
      user: readUser(claims, route),
      expectStillValid() {
        expectStillValid(claims, callAsUser)
        readUser(claims, route)
      },
    }
  }

  async function check(
    { container, id }: Route,
    shown: ShownToken,
    ownProjectOnly: boolean,
    request: ProvenRequest,
  ): Promise<Admitted> {
    const { token } = shown
    const caller = identity.isOwn(token)
      ? await checkService(shown, id)
      : await checkToken(token, id, request)
    if (caller.account !== container.accountId)
      throw new RpcError('wrong_account', `the service ${id} belongs to another account than the token`)
    if (ownProjectOnly && caller.client !== container.clientId)
      throw new RpcError(
        'insufficient_scope',
        `the service ${id} accepts only tokens of its own project (MCM.ACCESS)`,
        {
          hint: 'Get an access token with the client ID of that project.',
        },
      )
    return caller
  }

  return (route, request) => {
    const access = route.settings['MCM.ACCESS']
    if (access === 'public') return undefined
    const { shown } = request
    if (!shown) {
      throw new RpcError('token_missing', `the service ${route.id} needs an access token`, {
        hint: 'Send "Authorization: Bearer <access token of this node>".',
      })
    }
    if (access === 'users') return checkUser(route, shown, request)
    return check(route, shown, access === 'client', request)
  }
}

const fromToken = (claims: { account_id: string; client_id: string; scope: string }): Caller => ({
  account: claims.account_id,
  client: claims.client_id,
  scope: claims.scope,
  container: '',
})

const fromService = (claims: { sub: string; account_id: string; client_id: string }): Caller => ({
  account: claims.account_id,
  client: claims.client_id,
  scope: '',
  container: claims.sub,
})

async function verified<T>(verify: () => T | Promise<T>): Promise<T> {
  try {
    return await verify()
  } catch (cause) {
    throw tokenRpcError(cause)
  }
}
