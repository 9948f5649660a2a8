/** The person at the browser that came with an authorization request, and what the person may do with it. */
import type { Person } from '../../registry/people/people.ts'
import type { Shares } from '../../registry/shares/shares.ts'
import type { AppConsents } from '../../registry/sign-ins/app-consents.ts'
import type { Standing } from './next-step.ts'
import type { AuthorizationRequest } from './request.ts'

/** The browser that came with a request, and the person who is signed in to the console in it. */
export interface Visitor {
  readonly person: Pick<Person, 'personId' | 'email'>
  readonly sessionId: string
  /** Unix milliseconds of the sign-in to the console. */
  readonly authTime: number
  /** Account that the console shows. */
  readonly accountId: string
  /** Accounts that the session reaches. */
  readonly accountIds: readonly string[]
  /**
   * The account of the company that vouches for a person who has a sign-in of their own: there is no other account in which this
   * counts. Undefined: the person vouches, or has no other sign-in.
   */
  readonly boundTo: string | undefined
  /** Address and program of the browser. */
  readonly described: string
}

export interface StandingParts {
  readonly appConsents: AppConsents
  readonly shares: Pick<Shares, 'usableBy'>
}

/** @returns also the account that the app would act for; "" without one */
export type ReadStanding = (
  request: AuthorizationRequest,
  visitor: Visitor,
) => Promise<{ readonly standing: Standing; readonly accountId: string }>

export function createReadStanding({ appConsents, shares }: StandingParts): ReadStanding {
  /** The account that an app acts for: that of its project, or the one that the person has chosen in the console. */
  function accountFor({ project }: AuthorizationRequest, visitor: Visitor): string {
    const wanted = project.appUsers === 'account' ? project.accountId : visitor.accountId
    return visitor.accountIds.find((accountId) => accountId === wanted) ?? ''
  }

  /** A device of another account: the person may call what is shared, and the app may do nothing else there. */
  async function foreignDevice(
    { node, scope, project: { clientId } }: AuthorizationRequest,
    { person: { personId } }: Visitor,
    accountId: string,
  ): Promise<string | undefined> {
    if (!node || node.sub === '' || node.sub === accountId) return undefined
    const usable = await shares.usableBy(personId, { nodeId: node.node_id, clientId })
    if (usable?.account_id !== node.sub) return 'The device belongs to another account.'
    if (scope.split(' ').every((each) => sharedScopes.includes(each))) return undefined
    return 'The device belongs to another account, which shares services with you. The app requests more than that.'
  }

  return async (request, visitor) => {
    const accountId = accountFor(request, visitor)
    const isRemembered =
      accountId !== '' &&
      !request.node &&
      (await appConsents.covers(consentSubject(request, visitor, accountId), request.scope))
    const { authTime, person } = visitor
    const obstacle =
      obstacleTo(request, visitor, accountId) ?? (await foreignDevice(request, visitor, accountId))
    return { accountId, standing: { personId: person.personId, authTime, obstacle, isRemembered } }
  }
}

/** Scopes that act on no device. */
const sharedScopes = ['openid', 'offline_access']

/** Why a person cannot approve a request, for the person; undefined if the person can. */
function obstacleTo(
  { expectedPersonId, project, node }: AuthorizationRequest,
  { person, boundTo }: Visitor,
  accountId: string,
): string | undefined {
  if (accountId === '') return 'The app is for people of its own account, and you are not one of them.'
  if (expectedPersonId !== undefined && expectedPersonId !== person.personId)
    return 'The app expects another person. Sign out, and sign in as that person.'
  const involved = [project.accountId, node?.sub || accountId]
  if (boundTo !== undefined && involved.some((each) => each !== boundTo))
    return 'Your company vouches for you in its own account only. Sign out, and sign in with your passkey or password.'
  return undefined
}

export const consentSubject = (
  { project: { clientId } }: AuthorizationRequest,
  { sessionId }: Visitor,
  accountId: string,
) => ({ sessionId, clientId, accountId })
