import { randomBytes } from 'node:crypto'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import type { Seal } from './seal.ts'

/** A secret of the installation: created once, stored encrypted, the same for every replica and after every restart. */
export async function openSecret(store: SqlStore, seal: Seal, name: string): Promise<Buffer> {
  const purpose = `secret ${name}`
  const fresh = seal.close(randomBytes(32).toString('base64url'), purpose)
  await store.run(sql`INSERT INTO settings VALUES (${name}, ${fresh}) ON CONFLICT (name) DO NOTHING`)
  const rows = await store.run(sql`SELECT value FROM settings WHERE name = ${name}`)
  return Buffer.from(seal.open(rows[0]!.value as string, purpose), 'base64url')
}
