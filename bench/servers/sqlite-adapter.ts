/**
 * What `oidc-provider` stores, in SQLite: one table, prepared statements in its own thread, and a commit that is on the disk when it
 * returns, as the identity service has it.
 */
import { DatabaseSync } from 'node:sqlite'
import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider'

/** @param path file of the database */
export function sqliteAdapter(path: string): AdapterFactory {
  const database = new DatabaseSync(path)
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE models (id TEXT PRIMARY KEY, payload TEXT NOT NULL, grant_id TEXT, uid TEXT, expires_at INTEGER, used_at INTEGER);
    CREATE INDEX models_grant ON models (grant_id);
    CREATE INDEX models_uid ON models (uid)`)
  const now = () => Math.floor(Date.now() / 1000)
  const insert = database.prepare('INSERT OR REPLACE INTO models VALUES (?, ?, ?, ?, ?, NULL)')
  const byId = database.prepare('SELECT payload, used_at FROM models WHERE id = ? AND expires_at > ?')
  const byUid = database.prepare('SELECT payload, used_at FROM models WHERE uid = ? AND expires_at > ?')
  const use = database.prepare('UPDATE models SET used_at = ? WHERE id = ?')
  const remove = database.prepare('DELETE FROM models WHERE id = ?')
  const removeGrant = database.prepare('DELETE FROM models WHERE grant_id = ?')
  const read = (row: Record<string, unknown> | undefined): AdapterPayload | undefined =>
    row && { ...JSON.parse(row.payload as string), ...(row.used_at !== null && { consumed: row.used_at }) }

  return (name): Adapter => ({
    async upsert(id, payload, expiresIn) {
      const { grantId = null, uid = null } = payload
      insert.run(`${name} ${id}`, JSON.stringify(payload), grantId, uid, now() + (expiresIn ?? 86_400))
    },
    find: async (id) => read(byId.get(`${name} ${id}`, now())),
    findByUid: async (uid) => read(byUid.get(uid, now())),
    findByUserCode: async () => undefined,
    consume: async (id) => void use.run(now(), `${name} ${id}`),
    destroy: async (id) => void remove.run(`${name} ${id}`),
    revokeByGrantId: async (grantId) => void removeGrant.run(grantId),
  })
}
