/** The account of the person who signed in, at the identity service that issued the sign-in. */
import type { RpcClient } from '@selvedge/client'
import type { AccountApiMethods } from '@selvedge/protocol/console'
import { developerTokenOf } from '../login/developer-token.ts'
import { tokenNeeded } from './access-token.ts'
import type { Context } from './context.ts'

/** @throws UsageError without a sign-in at the identity service in use */
export async function accountOf(context: Context): Promise<RpcClient<AccountApiMethods>> {
  const { url } = await context.identity()
  const login = context.signIns.read(url)
  if (!login) throw tokenNeeded(context.selection())
  return context.accountAt(login.identityUrl, await developerTokenOf(context, login))
}
