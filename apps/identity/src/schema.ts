/** The tables of the identity service. Times are Unix milliseconds; '' stands for "none" where a text may be missing. */
import type { Migrations } from '@selvedge/service-kit/store'

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
]
