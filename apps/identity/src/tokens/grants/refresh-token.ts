import { grantTypes, OAuthError } from '@selvedge/protocol'
import { describeKind, hasScope, type UserClaims } from '@selvedge/protocol/tokens'
import type { RevocableClaims } from '@selvedge/service-kit/tokens'
import type { DeveloperTokens } from '../../registry/projects/developer-tokens.ts'
import type { Project, Projects } from '../../registry/projects/projects.ts'
import type { Revocations } from '../../registry/revocation/revocations.ts'
import type { SignIn, SignIns } from '../../registry/sign-ins/sign-ins.ts'
import type { Audit } from '../../storage/audit/audit.ts'
import { checkAppUsers } from '../checks/app-users.ts'
import { checkClientActive } from '../checks/client-active.ts'
import { checkNotRevoked } from '../checks/not-revoked.ts'
import { checkScopeApproved } from '../checks/scope-approved.ts'
import type { IssueAppId } from './app-id-token.ts'
import { required } from './form.ts'
import type { Grant } from './grant.ts'
import type { IssueLease } from './lease.ts'
import type { Limits } from './limits.ts'
import type { Grounds, Mint } from './mint.ts'
import type { ReadUser } from './read-user.ts'

export interface RefreshParts {
  readonly projects: Projects
  readonly signIns: SignIns
  readonly revocations: Revocations
  readonly developerTokens: DeveloperTokens
  readonly audit: Audit
  readonly limits: Limits
  readonly mint: Mint
  readonly issueLease: IssueLease
  readonly issueAppId: IssueAppId
  readonly readUser: ReadUser
}

const refusals = {
  unknown: 'this service did not issue the refresh token',
  ended: 'the sign-in of the refresh token has expired; sign in again',
  revoked: 'the sign-in of the refresh token was revoked; sign in again',
  reused:
    'the refresh token was used before, so its sign-in is revoked: another program may have a copy. Sign in again',
} as const

function describeUnknown(token: string): string {
  const found = describeKind(token)
  if (found === undefined || found === 'a refresh token') return refusals.unknown
  return `this is ${found}; refresh_token needs a refresh token: the "refresh_token" of an earlier answer`
}

/** RFC 6749 § 6, with rotation (RFC 9700 § 4.14.2) and a grace for answers that got lost. */
export function refreshToken(parts: RefreshParts): Grant {
  const { projects, signIns, revocations, audit } = parts

  /** What does not depend on which of its tokens was shown. Nothing is used up, and nothing revoked, by failing here. */
  async function checkSignIn(signIn: SignIn, clientId: string, jkt: string | undefined): Promise<SignIn> {
    if (signIn.clientId !== clientId)
      throw new OAuthError('invalid_grant', 'the refresh token was issued to another client')
    // A copy of the string alone must not be enough to end the sign-in of its owner.
    if (signIn.jkt !== '' && signIn.jkt !== jkt)
      throw new OAuthError(
        'invalid_grant',
        'the refresh token is bound to a key; send a DPoP proof of that key',
      )
    checkNotRevoked(revocations, revocableOf(signIn), 'refresh token')
    return signIn
  }

  return {
    grantType: grantTypes.refreshToken,
    tokenError: 'invalid_grant',
    async answer(form, caller) {
      const clientId = required(form, 'client_id')
      const token = required(form, 'refresh_token')
      const project = await checkClientActive(projects, clientId)
      const jkt = await caller.prove(project.dpop)
      const found = await signIns.find(token)
      if (!found) throw new OAuthError('invalid_grant', describeUnknown(token))
      const signIn = await checkSignIn(found, clientId, jkt)
      checkAppUsers(project, signIn)
      const scope = form.get('scope') ?? signIn.scope
      checkScopeApproved({ scope: signIn.scope }, scope)
      if (!project.scopes.includes('offline_access'))
        throw new OAuthError('invalid_grant', 'the project may not use refresh tokens any more')
      parts.limits.takeFor(clientId, signIn.accountId)
      const rotation = await signIns.rotate(token)
      if (rotation.outcome !== 'ok') {
        if (rotation.outcome === 'reused') {
          await audit.record({
            accountId: signIn.accountId,
            actor: clientId,
            action: 'sign_in.reuse',
            subject: signIn.sid,
            address: caller.address,
            outcome: 'refused',
            detail: 'an old refresh token came after its grace; the sign-in was revoked',
          })
        }
        throw new OAuthError('invalid_grant', refusals[rotation.outcome])
      }
      const user = await parts.readUser(signIn)
      const given = { project, signIn, scope, jkt, epoch: caller.epoch, user }
      return {
        ...tokensOf(parts, given),
        ...(await parts.issueLease(groundsOf(given))),
        refresh_token: rotation.refreshToken,
      }
    },
  }
}

/** As much of a sign-in as decides whether it was revoked. */
export function revocableOf(signIn: SignIn): RevocableClaims {
  const { sid, origin, clientId, accountId, nodeId, createdAt, epoch } = signIn
  return {
    jti: sid,
    iat: Math.floor(createdAt / 1000),
    account_id: accountId,
    client_id: clientId,
    ...(epoch !== undefined && { epoch }),
    ...(origin !== '' && { sid: origin }),
    ...(nodeId !== '' && { node_id: nodeId }),
  }
}

interface Given {
  readonly project: Project
  readonly signIn: SignIn
  readonly scope: string
  readonly jkt: string | undefined
  readonly epoch: number
  /** Of the authorization request of an app; "" or absent without one, and at a refresh. */
  readonly nonce?: string
  /** The person of an app at a node, and what is shared with the person there. */
  readonly user?: UserClaims
}

/** What the tokens of a sign-in contain. */
export function groundsOf({ project, signIn, scope, jkt, epoch, user }: Given): Grounds {
  const { sid, accountId, personId, nodeId, audience, authTime, isOfApp } = signIn
  return {
    ...{ project, accountId, authTime, scope, audience, sid, epoch, jkt },
    ...(isOfApp && { subject: personId }),
    ...user,
    nodeId: nodeId === '' ? undefined : nodeId,
  }
}

/** The tokens that a sign-in gives, at its beginning and at each refresh. */
export function tokensOf(
  { developerTokens, mint, issueAppId }: Pick<RefreshParts, 'developerTokens' | 'mint' | 'issueAppId'>,
  given: Given,
) {
  const { project, signIn, scope, epoch, nonce } = given
  const { sid, clientId, accountId, personId, email, nodeId, authTime, isOfApp } = signIn
  const access = mint(groundsOf(given))
  const lifetimeSeconds = access.expires_in
  if (!hasScope(scope, 'openid')) return access
  if (isOfApp) {
    const algorithm = project.idTokenSignedResponseAlg
    const grounds = { signIn, accessToken: access.access_token, lifetimeSeconds, algorithm, epoch }
    return { ...access, id_token: issueAppId({ ...grounds, ...(nonce && { nonce }) }) }
  }
  if (nodeId !== '') return access
  const subject = { accountId, personId, email, authTime }
  return {
    ...access,
    id_token: developerTokens.issueFor(subject, clientId, {
      lifetimeSeconds,
      sid,
      epoch,
      scope: signIn.scope,
    }),
  }
}
