import { RpcError } from '@selvedge/protocol'
import type { Account, Accounts } from '../../registry/people/accounts.ts'

/** The account of an e-mail address, or the only one there is. @throws RpcError `not_found`, or `conflict` unless there is exactly one */
export async function accountOf(accounts: Accounts, email: string | null): Promise<Account> {
  if (email !== null) return accounts.byEmail(email)
  const all = await accounts.list()
  if (all.length === 1) return all[0]!
  if (all.length === 0)
    throw new RpcError('conflict', 'there is no account yet', {
      hint: 'Open the link for the first owner (selvedge admin account link), or run: selvedge admin account create --email <address>',
    })
  const detail = `there are ${all.length} accounts, and the request names no account`
  throw new RpcError('conflict', detail, { hint: 'Name the account with --email.' })
}
