/**
 * What changes in a store that comes from a backup. Numbers continue above all that were given out, and everything that is valid
 * once is removed: it may have been used after the backup was made, and a restore must not make it valid again.
 */
import type { DatabaseSync } from 'node:sqlite'
import { StoreError } from '@selvedge/service-kit/store'
import type { Seal } from './secrets/seal.ts'

/** Tables of rows that are used once, or that a person can end: links, codes, join keys, sessions of browsers, sign-ins of terminals and apps that wait. */
const endingTables = [
  'one_time',
  'links',
  'enrolment_codes',
  'join_uses',
  'join_keys',
  'device_requests',
  'pushed_requests',
  'authorization_codes',
  'app_consents',
  'sessions',
  'replicas',
] as const

/** Tables of signing keys. */
const keyTables = ['signing_keys', 'rsa_signing_keys'] as const

/** Counters of the changes and of the list of revoked tokens, which order tokens and revocations. */
const counters = ['changes', 'revocations'] as const

/**
 * @param replaced the store that the restored one replaces; undefined if it cannot be read
 * @param now Unix milliseconds: larger than any number that was given out before, unless the clock is behind
 */
export function continueNumbers(
  restored: DatabaseSync,
  replaced: DatabaseSync | undefined,
  now: number,
): void {
  const raise = restored.prepare('UPDATE counters SET value = MAX(value + 1, ?) WHERE name = ?')
  for (const name of counters) raise.run(Math.max(now, readCounter(replaced, name)) + 1, name)
}

function readCounter(database: DatabaseSync | undefined, name: string): number {
  try {
    const row = database?.prepare('SELECT value FROM counters WHERE name = ?').get(name)
    return Number(row?.value ?? 0)
  } catch {
    // The replaced store may be damaged, which is why it is replaced.
    return 0
  }
}

export function endSingleUse(restored: DatabaseSync): void {
  const existing = existingTables(restored)
  for (const table of endingTables) if (existing.has(table)) restored.exec(`DELETE FROM ${table}`)
}

/** The backup of an earlier version does not have all tables. */
function existingTables(restored: DatabaseSync): ReadonlySet<unknown> {
  const rows = restored.prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`).all()
  return new Set(rows.map(({ name }) => name))
}

/** @param purposeOf what the key with an ID was encrypted for; @throws StoreError when the keys do not open the secrets */
export function expectReadable(restored: DatabaseSync, seal: Seal, purposeOf: (kid: string) => string): void {
  const rows = keyTables
    .filter((table) => existingTables(restored).has(table))
    .flatMap((table) => restored.prepare(`SELECT kid, private_jwk FROM ${table}`).all()) as {
    kid: string
    private_jwk: string
  }[]
  try {
    for (const { kid, private_jwk } of rows)
      if (seal.isSealed(private_jwk)) seal.open(private_jwk, purposeOf(kid))
  } catch (cause) {
    throw new StoreError(
      `the backup cannot be used: its secrets were encrypted with other keys. Restore the file "secret-keys" (or SELVEDGE_IDENTITY_KEYS) ` +
        'of the same time first. Nothing was changed',
      { cause, isUnrepairable: true },
    )
  }
}
