/**
 * The person of an access token for a node, and what other accounts share with the person there: what a gateway needs to decide about a
 * service for users without asking anyone.
 */
import type { JsonObject } from './jws.ts'

/** What a person shares or groups, and what a token carries of it. */
export const userLimits = {
  /** Characters of the name of a person. */
  nameCharacters: 320,
  /** Groups of one person in an account, and in a token. */
  groups: 16,
  /** Shared services in a token. */
  shares: 16,
  /** Groups of one account, and people of one group. */
  groupsOfAccount: 50,
  peopleOfGroup: 200,
  /** Shares of one account. */
  sharesOfAccount: 1000,
  /** Longest share in days. */
  shareDays: 400,
} as const

/** Name of a group: lower-case letters, digits and `. _ -`, as it is sent to services in a header. */
export const groupNamePattern = /^[a-z0-9][a-z0-9._-]{0,31}$/

/** Name of a service, as a deployment gives it. */
const servicePattern = /^[a-z0-9][a-z0-9._-]{0,62}$/i
/** IDs of people, accounts, shares and memberships. */
const idPattern = /^[\w-]{1,64}$/

/** A group of the account of the device. `id` names the membership of the person: revoking it ends what came from it. */
export interface TokenGroup {
  readonly id: string
  readonly name: string
}

/** The person who signed in to the app; `sub` of the token is the person. */
export interface TokenUser {
  /** E-mail address, for people to read: it proves nothing. */
  readonly name: string
  readonly groups: readonly TokenGroup[]
}

/** One service of the project of the token that is shared with the person. */
export interface TokenShare {
  /** What is in the list of revoked tokens once the share is removed. */
  readonly id: string
  /** Name of the service. */
  readonly service: string
  /** Unix second at which the share ends. */
  readonly until: number
  /** The membership that the share rests on, if it is with a group. */
  readonly member?: string
}

/** What the account of the device shares with a person of another account. */
export interface TokenShares {
  /** Account of the device. */
  readonly account_id: string
  readonly services: readonly TokenShare[]
}

export interface UserClaims {
  readonly user?: TokenUser
  readonly shares?: TokenShares
}

const isId = (value: unknown): boolean => typeof value === 'string' && idPattern.test(value)

function isGroup(value: unknown): boolean {
  const { id, name } = Object(value)
  return isId(id) && typeof name === 'string' && groupNamePattern.test(name)
}

function isShare(value: unknown): boolean {
  const { id, service, until, member = 'none' } = Object(value)
  const isNamed = typeof service === 'string' && servicePattern.test(service)
  return isId(id) && isId(member) && isNamed && Number.isSafeInteger(until)
}

const isListOf = (value: unknown, limit: number, isOne: (each: unknown) => boolean): boolean =>
  Array.isArray(value) && value.length <= limit && value.every(isOne)

/** What is wrong with the claims of a person; undefined if nothing is, or the token is of no person. */
export function userProblem({ sub, user, shares }: JsonObject): string | undefined {
  if (user === undefined) return shares === undefined ? undefined : 'claim "shares" is of no person'
  const { name, groups } = Object(user)
  if (!isId(sub)) return 'claim "sub" is not the ID of a person'
  if (typeof name !== 'string' || name.length > userLimits.nameCharacters)
    return 'claim "user.name" is not a name'
  if (!isListOf(groups, userLimits.groups, isGroup)) return 'claim "user.groups" is not a list of groups'
  if (shares === undefined) return undefined
  const { account_id: accountId, services } = Object(shares)
  if (!isId(accountId)) return 'claim "shares.account_id" is not an account'
  return isListOf(services, userLimits.shares, isShare)
    ? undefined
    : 'claim "shares.services" is not a list of shares'
}
