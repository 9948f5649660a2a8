/** The tables of the identity service. Times are Unix milliseconds; an empty text means that there is no value. */
import type { Migrations } from '@selvedge/service-kit/store'
import { appTables } from './app-tables.ts'
import { companyTables } from './company-tables.ts'
import {
  deviceEvents,
  deviceFacets,
  deviceLabels,
  deviceNeeds,
  deviceTurns,
  deviceVitals,
} from './device-tables.ts'
import { federatedSubjects, issuerKeySets, projectIssuers } from './federation-tables.ts'
import { joinTables } from './join-tables.ts'
import { projectOffline } from './lease-tables.ts'
import { shareTables } from './share-tables.ts'

export const migrations: Migrations = [
  `
  CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE signing_keys (
    kid TEXT PRIMARY KEY, private_jwk TEXT NOT NULL, state TEXT NOT NULL, since BIGINT NOT NULL
  );
  CREATE TABLE accounts (account_id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE, created_at BIGINT NOT NULL);
  CREATE TABLE projects (
    client_id TEXT PRIMARY KEY, name TEXT NOT NULL, account_id TEXT NOT NULL REFERENCES accounts (account_id),
    scopes TEXT NOT NULL, resources TEXT NOT NULL, active INTEGER NOT NULL, created_at BIGINT NOT NULL
  );
  CREATE TABLE developer_tokens (
    jti TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (account_id),
    client_id TEXT NOT NULL REFERENCES projects (client_id),
    issued_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, revoked_at BIGINT
  );
  CREATE INDEX developer_tokens_revoked ON developer_tokens (revoked_at) WHERE revoked_at IS NOT NULL;
  CREATE TABLE nodes (
    node_id TEXT PRIMARY KEY, name TEXT NOT NULL, account_id TEXT NOT NULL,
    hmac_node_key TEXT NOT NULL, hmac_cloud_key TEXT NOT NULL, hmac_secret TEXT NOT NULL,
    enrolled_at BIGINT NOT NULL, last_seen_at BIGINT NOT NULL, blocked_at BIGINT
  );
  CREATE INDEX nodes_account ON nodes (account_id);
  CREATE TABLE enrolment_codes (hash TEXT PRIMARY KEY, expires_at BIGINT NOT NULL, node_id TEXT NOT NULL);
  `,
  // People, their sign-ins, revocations, and the changes that replicas read from each other.
  `
  CREATE TABLE counters (name TEXT PRIMARY KEY, value BIGINT NOT NULL);
  INSERT INTO counters VALUES ('changes', 0);
  CREATE TABLE changes (seq BIGINT PRIMARY KEY, topic TEXT NOT NULL, subject TEXT NOT NULL, at BIGINT NOT NULL);
  CREATE UNIQUE INDEX signing_keys_single ON signing_keys (state) WHERE state IN ('active', 'next');

  CREATE TABLE people (
    person_id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE, password TEXT NOT NULL, created_at BIGINT NOT NULL
  );
  CREATE TABLE members (
    account_id TEXT NOT NULL REFERENCES accounts (account_id), person_id TEXT NOT NULL REFERENCES people (person_id),
    role TEXT NOT NULL, joined_at BIGINT NOT NULL, PRIMARY KEY (account_id, person_id)
  );
  CREATE INDEX members_person ON members (person_id);
  INSERT INTO people SELECT account_id, email, '', created_at FROM accounts;
  INSERT INTO members SELECT account_id, account_id, 'owner', created_at FROM accounts;
  CREATE TABLE passkeys (
    credential_id TEXT PRIMARY KEY, person_id TEXT NOT NULL REFERENCES people (person_id), name TEXT NOT NULL,
    public_key TEXT NOT NULL, counter BIGINT NOT NULL, transports TEXT NOT NULL,
    created_at BIGINT NOT NULL, last_used_at BIGINT
  );
  CREATE INDEX passkeys_person ON passkeys (person_id);
  CREATE TABLE recovery_codes (
    hash TEXT PRIMARY KEY, person_id TEXT NOT NULL REFERENCES people (person_id), used_at BIGINT
  );
  CREATE INDEX recovery_codes_person ON recovery_codes (person_id);
  CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, person_id TEXT NOT NULL REFERENCES people (person_id),
    account_id TEXT NOT NULL, auth_time BIGINT NOT NULL, method TEXT NOT NULL, created_at BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, address TEXT NOT NULL, user_agent TEXT NOT NULL
  );
  CREATE INDEX sessions_person ON sessions (person_id);
  CREATE TABLE one_time (
    hash TEXT PRIMARY KEY, purpose TEXT NOT NULL, payload TEXT NOT NULL, expires_at BIGINT NOT NULL
  );

  CREATE TABLE revocations (
    kind TEXT NOT NULL, subject TEXT NOT NULL, not_before BIGINT NOT NULL, expires_at BIGINT NOT NULL,
    PRIMARY KEY (kind, subject)
  );
  CREATE TABLE sign_ins (
    sid TEXT PRIMARY KEY, client_id TEXT NOT NULL, account_id TEXT NOT NULL, person_id TEXT NOT NULL, email TEXT NOT NULL,
    node_id TEXT NOT NULL, origin TEXT NOT NULL, scope TEXT NOT NULL, audience TEXT NOT NULL, jkt TEXT NOT NULL,
    auth_time BIGINT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, revoked_at BIGINT,
    generation BIGINT NOT NULL, rotations TEXT NOT NULL, last_used_at BIGINT NOT NULL, described TEXT NOT NULL
  );
  CREATE INDEX sign_ins_account ON sign_ins (account_id);
  CREATE INDEX sign_ins_node ON sign_ins (node_id);
  CREATE INDEX sign_ins_origin ON sign_ins (origin);
  CREATE INDEX sign_ins_expires ON sign_ins (expires_at);
  CREATE TABLE device_requests (
    device_hash TEXT PRIMARY KEY, user_code TEXT NOT NULL UNIQUE, client_id TEXT NOT NULL, scope TEXT NOT NULL,
    jkt TEXT NOT NULL, address TEXT NOT NULL, user_agent TEXT NOT NULL, created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL, step BIGINT NOT NULL, polled_at BIGINT NOT NULL, too_fast INTEGER NOT NULL,
    state TEXT NOT NULL, sid TEXT NOT NULL, used_at BIGINT,
    account_id TEXT NOT NULL, person_id TEXT NOT NULL, email TEXT NOT NULL, auth_time BIGINT NOT NULL
  );
  CREATE TABLE audit (
    audit_id TEXT PRIMARY KEY, at BIGINT NOT NULL, account_id TEXT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,
    subject TEXT NOT NULL, address TEXT NOT NULL, outcome TEXT NOT NULL, detail TEXT NOT NULL
  );
  CREATE INDEX audit_account ON audit (account_id, audit_id);

  ALTER TABLE projects ADD COLUMN access_lifetime BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE projects ADD COLUMN developer_lifetime BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE projects ADD COLUMN dpop TEXT NOT NULL DEFAULT 'optional';
  ALTER TABLE developer_tokens ADD COLUMN person_id TEXT NOT NULL DEFAULT '';
  ALTER TABLE developer_tokens ADD COLUMN last_used_at BIGINT;
  UPDATE developer_tokens SET person_id = account_id;
  CREATE INDEX developer_tokens_account ON developer_tokens (account_id);
  ALTER TABLE nodes ADD COLUMN version TEXT NOT NULL DEFAULT '';
  ALTER TABLE nodes ADD COLUMN services TEXT NOT NULL DEFAULT '[]';
  ALTER TABLE nodes ADD COLUMN removed_account TEXT NOT NULL DEFAULT '';
  `,
  // Every change deletes those that are old: a fleet that enrols makes thousands, and an index avoids reading all of them each time.
  `CREATE INDEX changes_at ON changes (at);`,
  // Whether a token was issued before a revocation is decided by the numbers of the changes. No clock has a part in it.
  `
  ALTER TABLE revocations ADD COLUMN epoch BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE sign_ins ADD COLUMN epoch BIGINT;
  `,
  // The epoch of an approval of a terminal, since when a node belongs to its account, and when it last left one.
  `
  CREATE INDEX revocations_epoch ON revocations (epoch);
  ALTER TABLE device_requests ADD COLUMN epoch BIGINT;
  CREATE INDEX device_requests_person ON device_requests (person_id);
  ALTER TABLE nodes ADD COLUMN account_epoch BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE nodes ADD COLUMN account_at BIGINT NOT NULL DEFAULT 0;
  CREATE TABLE account_keys (account_id TEXT PRIMARY KEY, epoch BIGINT NOT NULL);
  `,
  // The list of revoked tokens has its own numbers, and contains only what runtimes check. An index finds expired entries.
  `
  INSERT INTO counters SELECT 'revocations', value FROM counters WHERE name = 'changes';
  CREATE TABLE revocation_steps (seq BIGINT PRIMARY KEY, mark TEXT NOT NULL, at BIGINT NOT NULL);
  CREATE INDEX revocation_steps_at ON revocation_steps (at);
  ALTER TABLE revocations ADD COLUMN account_id TEXT NOT NULL DEFAULT '';
  ALTER TABLE revocations ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE revocations ADD COLUMN is_listed INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE revocations ADD COLUMN listed_until BIGINT NOT NULL DEFAULT 0;
  UPDATE revocations SET is_listed = 1, seq = (SELECT value FROM counters WHERE name = 'revocations'),
    listed_until = CASE WHEN kind = 'id' THEN expires_at ELSE (not_before + 86520) * 1000 END;
  CREATE INDEX revocations_seq ON revocations (seq);
  CREATE INDEX revocations_account ON revocations (account_id, kind, is_listed);
  CREATE INDEX revocations_listed ON revocations (listed_until) WHERE is_listed = 1;
  CREATE INDEX revocations_expires ON revocations (expires_at);
  CREATE INDEX one_time_expires ON one_time (expires_at);
  CREATE INDEX device_requests_expires ON device_requests (expires_at);
  CREATE INDEX sessions_expires ON sessions (expires_at);
  CREATE INDEX sessions_seen ON sessions (last_seen_at);
  CREATE INDEX enrolment_codes_expires ON enrolment_codes (expires_at);
  CREATE INDEX audit_outcome ON audit (account_id, outcome, audit_id);
  CREATE INDEX nodes_strangers ON nodes (last_seen_at) WHERE account_id = '';
  `,
  // Links name who made them, and end with that. Those from before do not: they end here.
  `
  CREATE TABLE links (
    link_id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, purpose TEXT NOT NULL, account_id TEXT NOT NULL, role TEXT NOT NULL,
    email TEXT NOT NULL, made_by TEXT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, claim TEXT NOT NULL
  );
  CREATE INDEX developer_tokens_expires ON developer_tokens (expires_at);
  CREATE INDEX projects_account ON projects (account_id);
  CREATE INDEX links_account ON links (account_id);
  CREATE INDEX links_claim ON links (claim);
  CREATE INDEX links_expires ON links (expires_at);
  DELETE FROM one_time WHERE purpose IN ('setup', 'reset', 'invitation');
  `,
  // A session is bound to the key of its browser. Those without one end.
  `
  DELETE FROM sessions;
  ALTER TABLE sessions ADD COLUMN jkt TEXT NOT NULL DEFAULT '';
  `,
  // What replicas count together, in which browsers people signed in, and from where sign-ins of terminals were requested.
  `
  CREATE TABLE buckets (key TEXT PRIMARY KEY, full_at BIGINT NOT NULL);
  CREATE INDEX buckets_full ON buckets (full_at);
  CREATE TABLE used_proofs (id TEXT PRIMARY KEY, expires_at BIGINT NOT NULL);
  CREATE INDEX used_proofs_expires ON used_proofs (expires_at);
  CREATE TABLE known_browsers (
    person_id TEXT NOT NULL REFERENCES people (person_id), jkt TEXT NOT NULL, seen_at BIGINT NOT NULL, PRIMARY KEY (person_id, jkt)
  );
  CREATE TABLE replicas (replica_id TEXT PRIMARY KEY, seen_at BIGINT NOT NULL);
  ALTER TABLE device_requests ADD COLUMN network TEXT NOT NULL DEFAULT '';
  CREATE INDEX device_requests_network ON device_requests (network);
  `,
  // What other issuers revoked.
  `CREATE TABLE revocation_lists (issuer TEXT PRIMARY KEY, list TEXT NOT NULL);`,
  deviceLabels,
  deviceFacets,
  deviceVitals,
  projectOffline,
  ...appTables,
  projectIssuers,
  federatedSubjects,
  issuerKeySets,
  ...companyTables,
  ...shareTables,
  deviceNeeds,
  deviceEvents,
  ...joinTables,
  deviceTurns,
]

/**
 * Every table, in an order in which rows can be copied: what is referred to comes first. `device_facets` is not among them: the
 * database fills it by itself.
 */
export const tables = [
  'settings',
  'signing_keys',
  'rsa_signing_keys',
  'counters',
  'changes',
  'accounts',
  'projects',
  'project_offline',
  'project_apps',
  'project_id_tokens',
  'project_origins',
  'project_issuers',
  'federated_subjects',
  'issuer_key_sets',
  'developer_tokens',
  'nodes',
  'device_labels',
  'device_vitals',
  'device_needs',
  'device_events',
  'account_keys',
  'person_groups',
  'group_members',
  'service_shares',
  'enrolment_codes',
  'join_keys',
  'join_uses',
  'join_rules',
  'device_turns',
  'people',
  'members',
  'passkeys',
  'recovery_codes',
  'sessions',
  'companies',
  'company_people',
  'company_sessions',
  'app_consents',
  'one_time',
  'links',
  'buckets',
  'used_proofs',
  'replicas',
  'known_browsers',
  'revocation_steps',
  'revocations',
  'revocation_lists',
  'sign_ins',
  'app_sign_ins',
  'device_requests',
  'pushed_requests',
  'authorization_codes',
  'audit',
] as const
