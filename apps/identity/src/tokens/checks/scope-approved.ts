import { OAuthError } from '@selvedge/protocol'
import { type DeveloperIdClaims, hasScope } from '@selvedge/protocol/tokens'

/** Where a person approved a list of scopes, the request stays within it. @throws OAuthError `invalid_scope` */
export function checkScopeApproved(
  { scope: approved }: Pick<DeveloperIdClaims, 'scope'>,
  asked: string,
): void {
  if (approved === undefined) return
  const more = asked.split(' ').filter((each) => !hasScope(approved, each))
  if (more.length === 0) return
  throw new OAuthError(
    'invalid_scope',
    `the person who signed in did not approve ${more.join(' ')}; sign in again with it`,
  )
}
