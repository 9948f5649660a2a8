/** The tables of the service. SQLite and PostgreSQL understand all of it. A step that was released is never changed. */
import type { Migrations } from '@selvedge/service-kit/store'

export const migrations: Migrations = [
  `
  CREATE TABLE locations (
    node_id TEXT PRIMARY KEY, node_name TEXT NOT NULL, account_id TEXT NOT NULL,
    longitude INTEGER NOT NULL, latitude INTEGER NOT NULL, cell INTEGER NOT NULL,
    speed REAL NOT NULL, bearing REAL NOT NULL, fixed_at INTEGER NOT NULL, received_at INTEGER NOT NULL
  );
  CREATE INDEX locations_cell ON locations (cell);
  CREATE INDEX locations_account ON locations (account_id);
  `,
  // The live index is in memory, so the copy needs no cells. Statements and tracks of nodes have their own tables.
  `
  CREATE TABLE last_locations (
    node_id TEXT PRIMARY KEY, node_name TEXT NOT NULL, account_id TEXT NOT NULL,
    longitude DOUBLE PRECISION NOT NULL, latitude DOUBLE PRECISION NOT NULL,
    speed DOUBLE PRECISION NOT NULL, bearing DOUBLE PRECISION NOT NULL, accuracy DOUBLE PRECISION, source TEXT NOT NULL,
    fixed_at BIGINT NOT NULL, received_at BIGINT NOT NULL, heard_at BIGINT NOT NULL, suspect SMALLINT NOT NULL,
    for_account TEXT NOT NULL, for_others TEXT NOT NULL
  );
  INSERT INTO last_locations SELECT node_id, node_name, account_id, longitude / 1e7, latitude / 1e7, speed, bearing, NULL,
    'api', fixed_at, received_at, received_at, 0, 'exact', 'none' FROM locations;
  DROP TABLE locations;
  CREATE TABLE nodes (
    node_id TEXT PRIMARY KEY, node_name TEXT NOT NULL, account_id TEXT NOT NULL,
    addresses TEXT NOT NULL, services TEXT NOT NULL, heard_at BIGINT NOT NULL, track_until BIGINT NOT NULL
  );
  CREATE INDEX nodes_account ON nodes (account_id, node_id);
  CREATE INDEX nodes_track ON nodes (track_until);
  CREATE TABLE tracks (
    node_id TEXT NOT NULL, fixed_at BIGINT NOT NULL, longitude DOUBLE PRECISION NOT NULL, latitude DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (node_id, fixed_at)
  );
  CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL);
  `,
  // The time by which tracks are removed.
  `CREATE TABLE counters (name TEXT PRIMARY KEY, value BIGINT NOT NULL);`,
  // What is revoked. And who owns a node: `term` grows when a node changes hands; the token that said so last is no older than this.
  `
  CREATE TABLE revocation_lists (issuer TEXT PRIMARY KEY, list TEXT NOT NULL);
  ALTER TABLE nodes ADD COLUMN term BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE nodes ADD COLUMN token_issuer TEXT NOT NULL DEFAULT '';
  ALTER TABLE nodes ADD COLUMN token_epoch BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE nodes ADD COLUMN token_iat BIGINT NOT NULL DEFAULT 0;
  CREATE INDEX nodes_heard ON nodes (heard_at);
  `,
]
