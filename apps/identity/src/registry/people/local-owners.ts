/**
 * Local owners: owners of an account by themselves, and not by a company. There is always one, who gets in when the provider of
 * the company is down or hostile.
 */

/** Condition: the membership of a row with `account_id` and `person_id` comes from a company alone. @param row name of its table */
export const isOfCompany = (row: string): string =>
  `EXISTS (SELECT 1 FROM company_people WHERE company_people.account_id = ${row}.account_id
    AND company_people.person_id = ${row}.person_id AND company_people.was_local = 0)`

/** Condition on a row of `members`: the account keeps a local owner without it. */
export const isSpare = `(members.role <> 'owner' OR ${isOfCompany('members')} OR EXISTS (SELECT 1 FROM members AS others
  WHERE others.account_id = members.account_id AND others.role = 'owner' AND others.person_id <> members.person_id
    AND NOT ${isOfCompany('others')}))`
