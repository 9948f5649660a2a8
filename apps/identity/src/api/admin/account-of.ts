import { RpcError } from '@selvedge/protocol'
import type { Account, Accounts } from '../../registry/people/accounts.ts'

/** The account of an e-mail address, or the only one there is. @throws RpcError `not_found`, or `conflict` if there are several */
export async function accountOf(accounts: Accounts, email: string | null): Promise<Account> {
  if (email !== null) return accounts.byEmail(email)
  const all = await accounts.list()
  if (all.length === 1) return all[0]!
  const detail = `there are ${all.length} accounts, and the request names no account`
  throw new RpcError('conflict', detail, { hint: 'Name the account with --email.' })
}
