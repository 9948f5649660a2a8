/** Tables about the issuers that a project trusts, which the version before does not know. */
import type { AddedTable } from '@selvedge/service-kit/store'

const issuers = `
  CREATE TABLE project_issuers (
    issuer_id TEXT PRIMARY KEY, client_id TEXT NOT NULL REFERENCES projects (client_id) ON DELETE CASCADE,
    issuer TEXT NOT NULL, audiences TEXT NOT NULL, conditions TEXT NOT NULL, scopes TEXT NOT NULL, acts_as TEXT NOT NULL,
    algorithms TEXT NOT NULL, allows_private INTEGER NOT NULL, created_at BIGINT NOT NULL, not_before BIGINT NOT NULL,
    removed_at BIGINT
  );
  CREATE INDEX project_issuers_client ON project_issuers (client_id);
  CREATE INDEX project_issuers_removed ON project_issuers (removed_at);`

/** A rule by which a project trusts ID tokens of an issuer. Several rules may name one issuer. */
export const projectIssuers: AddedTable = { table: 'project_issuers', sqlite: issuers, postgres: issuers }

const subjects = `
  CREATE TABLE federated_subjects (
    subject_id TEXT PRIMARY KEY, issuer_id TEXT NOT NULL REFERENCES project_issuers (issuer_id) ON DELETE CASCADE,
    account_id TEXT NOT NULL, subject TEXT NOT NULL, person_id TEXT NOT NULL, generation BIGINT NOT NULL,
    not_before BIGINT NOT NULL, created_at BIGINT NOT NULL, last_used_at BIGINT NOT NULL, UNIQUE (issuer_id, subject)
  );
  CREATE INDEX federated_subjects_person ON federated_subjects (person_id) WHERE person_id <> '';
  CREATE INDEX federated_subjects_used ON federated_subjects (last_used_at);`

const keySets = `
  CREATE TABLE issuer_key_sets (
    issuer_key TEXT PRIMARY KEY, key_set TEXT NOT NULL, fetched_at BIGINT NOT NULL
  );
  CREATE INDEX issuer_key_sets_fetched ON issuer_key_sets (fetched_at);`

/** The keys that an issuer published when one of the replicas fetched them last. */
export const issuerKeySets: AddedTable = { table: 'issuer_key_sets', sqlite: keySets, postgres: keySets }

/**
 * The workloads and people of such a rule, by the \`sub\` of their tokens. What was issued for one has the \`sid\`
 * \`<subject_id>.<generation>\`; revoking it begins the next generation.
 */
export const federatedSubjects: AddedTable = {
  table: 'federated_subjects',
  sqlite: subjects,
  postgres: subjects,
}
