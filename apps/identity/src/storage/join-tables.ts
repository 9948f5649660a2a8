/** Tables of join keys, which the version before does not know. */
import type { AddedTable } from '@selvedge/service-kit/store'

const same = (table: string, text: string): AddedTable => ({ table, sqlite: text, postgres: text })

/**
 * Join keys of accounts. `epoch`: number of the newest change when it was made; a device that left an account later does not return by it.
 * `blocks_for`: e-mail address of the owner who has its devices blocked, until all of them are; otherwise "".
 */
const joinKeys = same(
  'join_keys',
  `CREATE TABLE join_keys (
    key_id TEXT PRIMARY KEY, account_id TEXT NOT NULL, hash TEXT NOT NULL UNIQUE, title TEXT NOT NULL, name TEXT NOT NULL,
    tags TEXT NOT NULL, client_id TEXT NOT NULL, max_uses BIGINT NOT NULL, needs_approval INTEGER NOT NULL, made_by TEXT NOT NULL,
    epoch BIGINT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, revoked_at BIGINT, blocks_for TEXT NOT NULL
  );
  CREATE INDEX join_keys_account ON join_keys (account_id);
  CREATE INDEX join_keys_client ON join_keys (client_id);
  CREATE INDEX join_keys_expires ON join_keys (expires_at);
  CREATE INDEX join_keys_blocking ON join_keys (key_id) WHERE blocks_for <> '';`,
)

/**
 * What devices used them, each once: `waiting`, `approved`, `refused` or `joined`. `epoch`: number of the change with which it joined; 0
 * before.
 */
const joinUses = same(
  'join_uses',
  `CREATE TABLE join_uses (
    key_id TEXT NOT NULL REFERENCES join_keys (key_id) ON DELETE CASCADE, node_id TEXT NOT NULL, account_id TEXT NOT NULL,
    number BIGINT NOT NULL, state TEXT NOT NULL, serial TEXT NOT NULL, address TEXT NOT NULL, at BIGINT NOT NULL,
    epoch BIGINT NOT NULL, PRIMARY KEY (key_id, node_id)
  );
  CREATE UNIQUE INDEX join_uses_number ON join_uses (key_id, number);
  CREATE INDEX join_uses_node ON join_uses (node_id);
  CREATE INDEX join_uses_waiting ON join_uses (account_id, at) WHERE state = 'waiting';`,
)

/** What accounts decide about all their join keys; an account without a row has the usual rules. */
const joinRules = same(
  'join_rules',
  `CREATE TABLE join_rules (account_id TEXT PRIMARY KEY, needs_approval INTEGER NOT NULL);`,
)

/** In an order in which rows can be copied. */
export const joinTables: readonly AddedTable[] = [joinKeys, joinUses, joinRules]
