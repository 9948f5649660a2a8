/**
 * Local owners: owners of an account by themselves, and not by a company. There is always one, who gets in when the provider of
 * the company is down or hostile.
 */

/** Condition: a company is linked to the person of a row with `account_id` and `person_id`. @param row name of its table @param and further condition */
const isLinked = (row: string, and: string): string =>
  `EXISTS (SELECT 1 FROM company_people WHERE company_people.account_id = ${row}.account_id
    AND company_people.person_id = ${row}.person_id AND ${and})`

/** Condition: the membership of a row with `account_id` and `person_id` comes from a company alone. @param row name of its table */
export const isOfCompany = (row: string): string => isLinked(row, "company_people.local_role = ''")

/** Condition on a row of `members`: an owner also without the rules of any company. @param row name of its table */
export const isLocalOwner = (row: string): string =>
  `(${row}.role = 'owner' AND NOT ${isLinked(row, "company_people.local_role <> 'owner'")})`

/** Condition on a row of `members`: the account keeps a local owner without it. */
export const isSpare = `(NOT ${isLocalOwner('members')} OR EXISTS (SELECT 1 FROM members AS others
  WHERE others.account_id = members.account_id AND others.person_id <> members.person_id AND ${isLocalOwner('others')}))`
