/** Tables about companies with a provider of their own for the console. The version before does not know them. */
import type { AddedTable } from '@selvedge/service-kit/store'

const same = (table: string, text: string): AddedTable => ({ table, sqlite: text, postgres: text })

/** A domain, the account that it belongs to, and the provider. The client secret is sealed. A removed row stays until its people are gone. */
const companies = same(
  'companies',
  `CREATE TABLE companies (
    company_id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (account_id) ON DELETE CASCADE,
    domain TEXT NOT NULL, issuer TEXT NOT NULL, client_id TEXT NOT NULL, client_auth TEXT NOT NULL, client_secret TEXT NOT NULL,
    rules TEXT NOT NULL, is_required INTEGER NOT NULL, allows_private INTEGER NOT NULL, created_at BIGINT NOT NULL, removed_at BIGINT
  );
  CREATE UNIQUE INDEX companies_domain ON companies (domain) WHERE removed_at IS NULL;
  CREATE INDEX companies_account ON companies (account_id);
  CREATE INDEX companies_removed ON companies (removed_at);`,
)

/**
 * People of a company, by the `sub` of their ID tokens. `local_role`: what the person is in the account without the company, "member" or "owner";
 * "": the membership comes from the company alone.
 */
const companyPeople = same(
  'company_people',
  `CREATE TABLE company_people (
    company_id TEXT NOT NULL REFERENCES companies (company_id) ON DELETE CASCADE, subject TEXT NOT NULL,
    person_id TEXT NOT NULL REFERENCES people (person_id) ON DELETE CASCADE, account_id TEXT NOT NULL, local_role TEXT NOT NULL,
    created_at BIGINT NOT NULL, last_used_at BIGINT NOT NULL, PRIMARY KEY (company_id, subject), UNIQUE (company_id, person_id)
  );
  CREATE INDEX company_people_person ON company_people (person_id, account_id);`,
)

/** Sessions that came from a company. */
const companySessions = same(
  'company_sessions',
  `CREATE TABLE company_sessions (
    session_id TEXT PRIMARY KEY REFERENCES sessions (session_id) ON DELETE CASCADE, company_id TEXT NOT NULL
  );
  CREATE INDEX company_sessions_company ON company_sessions (company_id);`,
)

export const companyTables = [companies, companyPeople, companySessions] as const
