import { OAuthError } from '@selvedge/protocol'
import type { Project } from '../../registry/projects/projects.ts'
import type { SignIn } from '../../registry/sign-ins/sign-ins.ts'

/** Whether the app of a project may still act for the person of a sign-in. @throws OAuthError `invalid_grant` */
export function checkAppUsers(
  { appUsers, accountId }: Pick<Project, 'appUsers' | 'accountId'>,
  signIn: Pick<SignIn, 'isOfApp' | 'accountId'>,
): void {
  if (signIn.isOfApp && appUsers === 'account' && signIn.accountId !== accountId)
    throw new OAuthError('invalid_grant', 'the app is for people of its own account now')
}
