/**
 * Who calls a service with `MCM.ACCESS: "users"`, by the claims of a verified token and by the service alone: a person who signed in to the
 * app of the project that deployed it, and who is of the account of the device or has a share of this service.
 */
import { RpcError } from '@selvedge/protocol'
import { type AccessClaims, leeway, type TokenShare } from '@selvedge/protocol/tokens'
import type { KeepUnrevoked } from '../../device/tokens/authorize.ts'
import type { Route } from '../containers/views.ts'

/** The person as the service gets to know it. */
export interface User {
  /** ID of the person, as `sub` of the app's ID tokens. */
  readonly sub: string
  readonly name: string
  readonly groups: readonly string[]
}

interface ReadUserParts {
  readonly keepUnrevoked: KeepUnrevoked
  /** Unix milliseconds. */
  readonly now: () => number
}

type SharedRoute = Pick<Route, 'id'> & {
  readonly container: Pick<Route['container'], 'accountId' | 'clientId' | 'name'>
}

/** @throws RpcError `forbidden`, `insufficient_scope`, `wrong_account` or `token_revoked` */
export type ReadUser = (claims: AccessClaims, route: SharedRoute) => User

export function createReadUser({ keepUnrevoked, now }: ReadUserParts): ReadUser {
  const isValid = (claims: AccessClaims, ids: readonly string[]) =>
    keepUnrevoked(claims, ids).length === ids.length

  /** A share is of one service of the project of the token, and ends by itself. */
  function expectShared(claims: AccessClaims, { id, container }: SharedRoute): void {
    if (claims.shares?.account_id !== container.accountId)
      throw new RpcError('wrong_account', `the service ${id} belongs to another account than the token`)
    const share = claims.shares.services.find(({ service }) => service === container.name)
    if (!share)
      throw new RpcError('forbidden', `the service ${id} is not shared with the person of the token`)
    if (share.until + leeway <= now() / 1000)
      throw new RpcError('forbidden', `the share of the service ${id} has expired`)
    if (!isValid(claims, idsOf(share)))
      throw new RpcError('token_revoked', `the share of the service ${id} was removed`)
  }

  return (claims, route) => {
    const { user, client_id: clientId, account_id: accountId } = claims
    const { container, id } = route
    if (!user)
      throw new RpcError(
        'forbidden',
        `the service ${id} is for people (MCM.ACCESS), and the token is of no person`,
        {
          hint: 'Get a token by the sign-in of an app of the project, with the edge_id_token of this device.',
        },
      )
    if (clientId !== container.clientId)
      throw new RpcError('insufficient_scope', `the service ${id} accepts only people of its own project`)
    if (accountId !== container.accountId) expectShared(claims, route)
    const valid = keepUnrevoked(
      claims,
      user.groups.map((group) => group.id),
    )
    const groups = user.groups.filter((group) => valid.includes(group.id)).map(({ name }) => name)
    return { sub: claims.sub, name: user.name, groups }
  }
}

const idsOf = ({ id, member }: TokenShare): readonly string[] => (member === undefined ? [id] : [id, member])
