/** Statements about sign-in links, for transactions of the people and the accounts that the links are for. */
import { randomUUID } from 'node:crypto'
import { type Statement, sql } from '@selvedge/service-kit/store'

/** Condition: any person can sign in. */
export const anyCredential =
  "(EXISTS (SELECT 1 FROM passkeys) OR EXISTS (SELECT 1 FROM people WHERE password <> ''))"

/** Ends the links that a new credential of a person replaces: older links for the same person, and the link for the first owner. */
export const endLinksFor = (personId: string): readonly Statement[] => [
  sql`DELETE FROM links WHERE purpose = 'setup'
    OR (purpose = 'reset' AND email = (SELECT email FROM people WHERE person_id = ${personId}))`,
]

/** Binds the link for the first owner to the owner of the first account. */
export const bindSetup = (email: string): Statement =>
  sql`UPDATE links SET email = ${email} WHERE purpose = 'setup' AND email = ''`

/**
 * Signs a person in with a link, after the statement that claimed the link in the same transaction.
 *
 * @param viewerId person ID of the caller; "" if the caller is not signed in
 * @param now Unix milliseconds
 * @returns statements; the last but one returns `person_id` and `account_id`
 */
export function letIn(claim: string, email: string, viewerId: string, now: number): Statement[] {
  const [personId, accountId] = [randomUUID(), randomUUID()]
  // A link without an address lets in a new person, or the caller; never another one who has this address.
  const person = sql`people.email = ${email} AND (links.email <> '' OR people.person_id IN (${personId}, ${viewerId}))`
  const personOfLink = {
    sql: `FROM links JOIN people ON ${person.sql} WHERE links.claim = ?`,
    values: [...person.values, claim],
  }
  return [
    sql`INSERT INTO people SELECT CAST(${personId} AS TEXT), CAST(${email} AS TEXT), '', CAST(${now} AS BIGINT) FROM links
      WHERE claim = ${claim} AND links.email = '' ON CONFLICT (email) DO NOTHING`,
    {
      sql: `INSERT INTO accounts SELECT CAST(? AS TEXT), people.email, CAST(? AS BIGINT) ${personOfLink.sql}
        AND links.purpose = 'setup' AND links.email = '' ON CONFLICT (email) DO NOTHING`,
      values: [accountId, now, ...personOfLink.values],
    },
    {
      sql: `INSERT INTO members SELECT accounts.account_id, people.person_id, links.role, CAST(? AS BIGINT)
        FROM links JOIN people ON ${person.sql}
        JOIN accounts ON accounts.account_id = CASE WHEN links.purpose = 'setup' THEN ? ELSE links.account_id END
        WHERE links.claim = ? ON CONFLICT DO NOTHING`,
      values: [now, ...person.values, accountId, claim],
    },
    {
      sql: `DELETE FROM links WHERE claim = ? AND EXISTS (SELECT 1 FROM people
        JOIN members ON members.person_id = people.person_id
        WHERE ${person.sql} AND (links.account_id = '' OR members.account_id = links.account_id))
        RETURNING account_id, (SELECT person_id FROM people WHERE email = ?) AS person_id`,
      values: [claim, ...person.values, email],
    },
    // The sign-in failed: the link can be used again.
    sql`UPDATE links SET claim = '' WHERE claim = ${claim}`,
  ]
}
