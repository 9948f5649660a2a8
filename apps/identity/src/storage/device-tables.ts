/** Tables about devices that the version before does not know. */
import type { AddedTable } from '@selvedge/service-kit/store'

const turns = `CREATE TABLE device_turns (
  node_id TEXT PRIMARY KEY REFERENCES nodes (node_id) ON DELETE CASCADE, turns TEXT NOT NULL
)`

/** Which starts of a runtime were heard with the key of a node, as JSON: what shows that two devices have it. */
export const deviceTurns: AddedTable = { table: 'device_turns', sqlite: turns, postgres: turns }

const labels = `CREATE TABLE device_labels (
  node_id TEXT PRIMARY KEY REFERENCES nodes (node_id) ON DELETE CASCADE,
  account_id TEXT NOT NULL, name TEXT NOT NULL, tags TEXT NOT NULL
)`

/** What the people of an account call a device. Another account that gets the device does not see it. */
export const deviceLabels: AddedTable = { table: 'device_labels', sqlite: labels, postgres: labels }

const vitals = `CREATE TABLE device_vitals (
  node_id TEXT PRIMARY KEY REFERENCES nodes (node_id) ON DELETE CASCADE,
  account_id TEXT NOT NULL, vitals TEXT NOT NULL, stated_at BIGINT NOT NULL
)`

/** What a device states about itself. Another account that gets the device does not see it. */
export const deviceVitals: AddedTable = { table: 'device_vitals', sqlite: vitals, postgres: vitals }

/** Orders of a list, and how many devices are in each state: without reading the rows of an account. */
const indexes = `
  CREATE INDEX device_facets_node ON device_facets (node_id);
  CREATE INDEX nodes_added ON nodes (account_id, enrolled_at, node_id);
  CREATE INDEX nodes_seen ON nodes (account_id, last_seen_at, node_id, blocked_at);`

const columns = `
    account_id TEXT NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL,
    node_id TEXT NOT NULL REFERENCES nodes (node_id) ON DELETE CASCADE,
    PRIMARY KEY (account_id, kind, value, node_id)`

/** The tags of a label with spaces between them. */
const tagWords = `REPLACE(REPLACE(REPLACE(REPLACE(label.tags, '","', ' '), '["', ''), '"]', ''), '[]', '')`

/**
 * @param service name of one of the `services` of a node
 * @param tags list of the tags of a label
 */
const view = (service: string, services: string, tags: string): string => `
  CREATE VIEW node_facets AS
    SELECT nodes.account_id, 'name' AS kind, LOWER(COALESCE(NULLIF(label.name, ''), nodes.name)) AS value, nodes.node_id
      FROM nodes LEFT JOIN device_labels AS label ON label.node_id = nodes.node_id AND label.account_id = nodes.account_id
    UNION ALL SELECT nodes.account_id, 'text', LOWER(nodes.name || COALESCE(' ' || label.name || ' ' || ${tagWords}, '')), nodes.node_id
      FROM nodes LEFT JOIN device_labels AS label ON label.node_id = nodes.node_id AND label.account_id = nodes.account_id
    UNION ALL SELECT nodes.account_id, 'tag', item.value, nodes.node_id
      FROM nodes JOIN device_labels AS label ON label.node_id = nodes.node_id AND label.account_id = nodes.account_id, ${tags}
    UNION ALL SELECT account_id, 'version', version, node_id FROM nodes
    UNION ALL SELECT account_id, 'service', ${service}, node_id FROM nodes, ${services} WHERE ${service} <> '';`

/** In the order of the primary key: pages of the table are written one after the other. */
const fill = (which: string) => `INSERT INTO device_facets
  SELECT account_id, kind, value, node_id FROM node_facets WHERE account_id <> '' AND ${which}
  ORDER BY account_id, kind, value, node_id ON CONFLICT DO NOTHING;`

const refresh = `DELETE FROM device_facets WHERE node_id = NEW.node_id; ${fill('node_id = NEW.node_id')}`

const changed = `OLD.name <> NEW.name OR OLD.account_id <> NEW.account_id OR OLD.version <> NEW.version OR OLD.services <> NEW.services`

/**
 * By what people find devices: the name that is shown, the text that is searched (both names and the tags), tags, services, versions. The
 * database fills it, so that it is also right when a replica of the version before writes a node. A list of services that PostgreSQL
 * cannot read (it accepts no U+0000) makes that device one without services here, and fails nothing.
 */
export const deviceFacets: AddedTable = {
  table: 'device_facets',
  sqlite: `
  CREATE TABLE device_facets (${columns}) WITHOUT ROWID;
  ${view("json_extract(item.value, '$.name')", 'json_each(nodes.services) AS item', 'json_each(label.tags) AS item')}
  ${fill('1 = 1')}
  ${indexes}
  CREATE TRIGGER nodes_facets_insert AFTER INSERT ON nodes BEGIN ${refresh} END;
  CREATE TRIGGER nodes_facets_update AFTER UPDATE OF name, account_id, version, services ON nodes
    WHEN ${changed} BEGIN ${refresh} END;
  CREATE TRIGGER labels_facets_insert AFTER INSERT ON device_labels BEGIN ${refresh} END;
  CREATE TRIGGER labels_facets_update AFTER UPDATE ON device_labels BEGIN ${refresh} END;`,
  postgres: `
  CREATE TABLE device_facets (${columns});
  CREATE FUNCTION stated_service_names(services TEXT) RETURNS SETOF TEXT LANGUAGE plpgsql AS $$
    BEGIN
      RETURN QUERY SELECT service ->> 'name' FROM json_array_elements(services::json) AS service;
    EXCEPTION WHEN OTHERS THEN RETURN;
    END $$;
  ${view('item.value', 'stated_service_names(nodes.services) AS item (value)', 'json_array_elements_text(label.tags::json) AS item (value)')}
  ${fill('1 = 1')}
  ${indexes}
  CREATE FUNCTION refresh_device_facets() RETURNS TRIGGER LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM 1 FROM nodes WHERE node_id = NEW.node_id FOR NO KEY UPDATE;
      ${refresh}
      RETURN NULL;
    END $$;
  CREATE TRIGGER nodes_facets_insert AFTER INSERT ON nodes FOR EACH ROW EXECUTE FUNCTION refresh_device_facets();
  CREATE TRIGGER nodes_facets_update AFTER UPDATE OF name, account_id, version, services ON nodes
    FOR EACH ROW WHEN (${changed}) EXECUTE FUNCTION refresh_device_facets();
  CREATE TRIGGER labels_facets AFTER INSERT OR UPDATE ON device_labels
    FOR EACH ROW EXECUTE FUNCTION refresh_device_facets();`,
}

const needs = `CREATE TABLE device_needs (
  account_id TEXT NOT NULL, need TEXT NOT NULL, node_id TEXT NOT NULL REFERENCES nodes (node_id) ON DELETE CASCADE,
  PRIMARY KEY (account_id, need, node_id)
);
CREATE INDEX device_needs_node ON device_needs (node_id);`

/** What devices need a person for, so that an account with many devices finds those few. */
export const deviceNeeds: AddedTable = { table: 'device_needs', sqlite: needs, postgres: needs }

const events = `CREATE TABLE device_events (
  node_id TEXT NOT NULL REFERENCES nodes (node_id) ON DELETE CASCADE, event_id TEXT NOT NULL,
  account_id TEXT NOT NULL, at BIGINT NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL,
  before_state TEXT NOT NULL, after_state TEXT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (node_id, event_id)
);
CREATE INDEX audit_subject ON audit (account_id, subject, audit_id);`

/** What happened to devices, and an index that finds what people did to one. */
export const deviceEvents: AddedTable = { table: 'device_events', sqlite: events, postgres: events }
