/** The account of the person who signed in, at the identity service that issued the sign-in. */
import type { RpcClient } from '@selvedge/client'
import type { AccountApiMethods } from '@selvedge/protocol/console'
import { signInNeeded } from '../failure.ts'
import { developerTokenOf } from '../login/developer-token.ts'
import type { Context } from './context.ts'

/** @throws UsageError without a sign-in at the identity service in use */
export async function accountOf(context: Context): Promise<RpcClient<AccountApiMethods>> {
  const { url } = await context.identity()
  const login = context.signIns.read(url)
  if (!login) throw signInNeeded(`you are not signed in at ${url}`, 'Sign in with "selvedge login".')
  return context.accountAt(login.identityUrl, await developerTokenOf(context, login))
}
