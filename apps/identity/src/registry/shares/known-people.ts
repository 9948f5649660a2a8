/**
 * The e-mail addresses that an account knows: of its members, and of those who signed in to one of its apps. An owner finds no other person
 * by an address, so that no account learns who has a sign-in at this installation.
 */
import { RpcError } from '@selvedge/protocol'
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'

/** Condition on a row of `people`. */
const isKnownTo = (accountId: string): Statement =>
  sql`(EXISTS (SELECT 1 FROM members AS known WHERE known.account_id = ${accountId} AND known.person_id = people.person_id)
    OR EXISTS (SELECT 1 FROM sign_ins JOIN app_sign_ins ON app_sign_ins.sid = sign_ins.sid
      JOIN projects AS app ON app.client_id = sign_ins.client_id
      WHERE sign_ins.person_id = people.person_id AND app.account_id = ${accountId})
    OR EXISTS (SELECT 1 FROM authorization_codes JOIN projects AS app ON app.client_id = authorization_codes.client_id
      WHERE authorization_codes.person_id = people.person_id AND authorization_codes.used_at IS NOT NULL
        AND app.account_id = ${accountId}))`

/** The address of a person for an account, as an expression: "" if the account does not know it. */
export function shownEmail(accountId: string): Statement {
  const known = isKnownTo(accountId)
  return { sql: `CASE WHEN ${known.sql} THEN people.email ELSE '' END`, values: known.values }
}

/**
 * @param person ID of any person, or an address that the account knows, in any case
 * @throws RpcError `not_found`, with the same words whether a person has the address or not
 */
export async function findPerson(store: SqlStore, accountId: string, person: string): Promise<string> {
  const known = isKnownTo(accountId)
  const [row] = await store.run({
    sql: `SELECT person_id FROM people WHERE person_id = ? OR (email = ? AND ${known.sql})`,
    values: [person, person.toLowerCase(), ...known.values],
  })
  if (row) return row.person_id as string
  throw new RpcError('not_found', 'the account knows no such person', {
    hint: 'An address works for members, and for people who signed in to an app of the account. For others, give the ID of the person: "sub" in the tokens of an app.',
  })
}
