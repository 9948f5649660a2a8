/** Tables about what an account shares, which the version before does not know. */
import type { AddedTable } from '@selvedge/service-kit/store'

const same = (table: string, text: string): AddedTable => ({ table, sqlite: text, postgres: text })

/** Groups of people of an account. A name is of one group at a time; a later group of the same name has another ID. */
const personGroups = same(
  'person_groups',
  `CREATE TABLE person_groups (
    group_id TEXT PRIMARY KEY, account_id TEXT NOT NULL, name TEXT NOT NULL, created_at BIGINT NOT NULL, revoked_at BIGINT
  );
  CREATE UNIQUE INDEX person_groups_name ON person_groups (account_id, name) WHERE revoked_at IS NULL;
  CREATE INDEX person_groups_revoked ON person_groups (revoked_at);`,
)

/** Who is in a group. Tokens name the row, so that it can be revoked; who returns to a group has another row. */
const groupMembers = same(
  'group_members',
  `CREATE TABLE group_members (
    member_id TEXT PRIMARY KEY, group_id TEXT NOT NULL REFERENCES person_groups (group_id) ON DELETE CASCADE,
    person_id TEXT NOT NULL, added_at BIGINT NOT NULL, revoked_at BIGINT
  );
  CREATE UNIQUE INDEX group_members_person ON group_members (group_id, person_id) WHERE revoked_at IS NULL;
  CREATE INDEX group_members_group ON group_members (group_id);
  CREATE INDEX group_members_of ON group_members (person_id);
  CREATE INDEX group_members_revoked ON group_members (revoked_at);`,
)

/**
 * Services that an account shares with a person or a group. `account_epoch` is that of the node: when the device leaves the account, it
 * gets another one, and the share never counts again.
 */
const serviceShares = same(
  'service_shares',
  `CREATE TABLE service_shares (
    share_id TEXT PRIMARY KEY, account_id TEXT NOT NULL, node_id TEXT NOT NULL REFERENCES nodes (node_id) ON DELETE CASCADE,
    account_epoch BIGINT NOT NULL, client_id TEXT NOT NULL REFERENCES projects (client_id) ON DELETE CASCADE,
    service TEXT NOT NULL, person_id TEXT NOT NULL, group_id TEXT NOT NULL, made_by TEXT NOT NULL, created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL, revoked_at BIGINT
  );
  CREATE INDEX service_shares_account ON service_shares (account_id);
  CREATE INDEX service_shares_node ON service_shares (node_id, client_id);
  CREATE INDEX service_shares_client ON service_shares (client_id);
  CREATE INDEX service_shares_group ON service_shares (group_id);
  CREATE INDEX service_shares_expires ON service_shares (expires_at);
  CREATE INDEX service_shares_revoked ON service_shares (revoked_at);`,
)

/** In an order in which rows can be copied. */
export const shareTables: readonly AddedTable[] = [personGroups, groupMembers, serviceShares]
