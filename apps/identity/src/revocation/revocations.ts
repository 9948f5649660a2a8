/** What was revoked before it ended. Every exchange and every introspection asks, so the answer is in memory. */
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { findRevocation, type RevocableClaims, type RevocationKind } from '@selvedge/service-kit/tokens'
import type { Changes, Topic } from '../changes/changes.ts'

export interface Revocation {
  readonly kind: RevocationKind
  readonly subject: string
  /** Unix second before which tokens of the subject must not have been issued, if they have no epoch. */
  readonly notBefore: number
  /** Number of the change that revoked them. */
  readonly epoch: number
}

/** Statements of the same transaction, and what they change. */
interface More {
  readonly statements: readonly Statement[]
  readonly noted: readonly (readonly [Topic, string])[]
}

export interface Revocations {
  /** Why a token is not good any more; undefined where it is. */
  reasonFor(claims: RevocableClaims, clientId?: string): string | undefined
  /** Revokes one token, or all that came from one sign-in. @param endsAt Unix second at which the last of them ends by itself */
  revokeId(id: string, endsAt: number): Promise<void>
  /**
   * Revokes every token of an account, node or client that was issued until now; those issued after this returns are valid.
   * No clock plays a part: tokens carry the number of the newest change that their issuer knew.
   *
   * @param more statements of the same transaction, and what they change
   */
  revokeAll(kind: Exclude<RevocationKind, 'id'>, subject: string, more?: More): Promise<Row[][]>
  /**
   * Revokes developer ID tokens and sign-ins, and every sign-in that came from them, in one transaction. Repeating it completes
   * what is missing, also of what is marked as revoked already.
   *
   * @param roots gives one column, `id`: the `jti` or `sid` of each of them; runs after `more.statements`, several times
   * @returns the rows of `more.statements` first
   */
  revokeTree(roots: Statement, more?: More): Promise<Row[][]>
  /** What the list for verifiers is made of; the same array until something changes. */
  current(): readonly Revocation[]
  /** Grows with every revocation. */
  seq(): Promise<number>
}

/** What lasts and ends with an account, a node or a client: it is shown as revoked, too. */
const endings: Readonly<
  Record<Exclude<RevocationKind, 'id'>, (subject: string, now: number) => readonly Statement[]>
> = {
  account: (id, now) => [
    sql`UPDATE developer_tokens SET revoked_at = COALESCE(revoked_at, ${now}) WHERE account_id = ${id}`,
    sql`UPDATE sign_ins SET revoked_at = COALESCE(revoked_at, ${now}) WHERE account_id = ${id}`,
  ],
  node: (id, now) => [
    sql`UPDATE sign_ins SET revoked_at = COALESCE(revoked_at, ${now}) WHERE node_id = ${id}`,
  ],
  client: (id, now) => [
    sql`UPDATE developer_tokens SET revoked_at = COALESCE(revoked_at, ${now}) WHERE client_id = ${id}`,
    sql`UPDATE sign_ins SET revoked_at = COALESCE(revoked_at, ${now}) WHERE client_id = ${id}`,
  ],
}

/** Milliseconds for which an access token may outlive what it came from, and a leeway of clocks. */
const outliving = 86_400_000 + 60_000

/** Marks and lists the roots and all that came from them. */
function treeStatements(roots: Statement, now: number): Statement[] {
  const tree = `WITH RECURSIVE roots (id) AS (${roots.sql}),
    tree (id) AS (SELECT id FROM roots UNION SELECT sign_ins.sid FROM sign_ins JOIN tree ON sign_ins.origin = tree.id) `
  const of = (text: string, ...values: number[]): Statement => ({
    sql: tree + text,
    values: [...roots.values, ...values],
  })
  const mark = 'SET revoked_at = COALESCE(revoked_at, CAST(? AS BIGINT))'
  return [
    of(`UPDATE developer_tokens ${mark} WHERE jti IN (SELECT id FROM tree)`, now),
    of(`UPDATE sign_ins ${mark} WHERE sid IN (SELECT id FROM tree)`, now),
    of(
      `INSERT INTO revocations (kind, subject, not_before, expires_at, epoch)
        SELECT 'id', tree.id, 0, CAST(? AS BIGINT) + COALESCE(
          (SELECT expires_at FROM developer_tokens WHERE jti = tree.id), CAST(? AS BIGINT)), counters.value
        FROM tree, counters WHERE counters.name = 'changes'
        ON CONFLICT (kind, subject) DO UPDATE SET expires_at = excluded.expires_at, epoch = excluded.epoch`,
      outliving,
      now,
    ),
  ]
}

/** @param longestLife seconds for which a token may live */
export async function openRevocations(
  store: SqlStore,
  clock: Clock,
  changes: Changes,
  longestLife: number,
): Promise<Revocations> {
  type Entry = Revocation & { readonly expiresAt: number }
  let list: readonly Revocation[] | undefined
  const keyOf = (kind: RevocationKind, subject: string) => `${kind}:${subject}`
  let newest = 0
  const known = await changes.copy<Entry>({
    topic: 'revocation',
    readAll: () => readSince(-1),
    readNew: () => readSince(newest),
    onChange() {
      list = undefined
    },
  })

  /** @param epoch number of a change; revocations of later ones are read */
  async function readSince(epoch: number): Promise<Map<string, Entry>> {
    const rows = await store.run(sql`SELECT * FROM revocations WHERE epoch > ${epoch}`)
    const entries = rows.map(toEntry)
    newest = entries.reduce((latest, each) => Math.max(latest, each.epoch), newest)
    return new Map(entries.map((entry) => [keyOf(entry.kind, entry.subject), entry]))
  }

  function toEntry(row: Row): Entry {
    const { kind, subject, not_before: notBefore, epoch, expires_at: expiresAt } = row as never
    return { kind, subject, notBefore, epoch, expiresAt }
  }

  function statements(
    kind: RevocationKind,
    subject: string,
    notBefore: number,
    expiresAt: number,
  ): Statement[] {
    return [
      sql`INSERT INTO revocations (kind, subject, not_before, expires_at, epoch)
        SELECT CAST(${kind} AS TEXT), CAST(${subject} AS TEXT), CAST(${notBefore} AS BIGINT), CAST(${expiresAt} AS BIGINT), value
        FROM counters WHERE name = 'changes'
        ON CONFLICT (kind, subject) DO UPDATE SET not_before = excluded.not_before, expires_at = excluded.expires_at,
          epoch = excluded.epoch`,
      sql`DELETE FROM revocations WHERE expires_at <= ${clock.now()}`,
    ]
  }

  return {
    reasonFor(claims, clientId) {
      if (known.all().size === 0) return undefined
      const whole = clientId === undefined ? claims : { ...claims, client_id: clientId }
      return findRevocation(whole, (kind, subject) => known.get(keyOf(kind, subject)))
    },
    async revokeId(id, endsAt) {
      const made = statements('id', id, 0, (endsAt + 60) * 1000)
      await changes.commit(made, [['revocation', keyOf('id', id)]])
    },
    async revokeAll(kind, subject, more = { statements: [], noted: [] }) {
      // For tokens without an epoch: their times of issue are whole seconds.
      const notBefore = seconds(clock) + 1
      const made = [
        ...endings[kind](subject, clock.now()),
        ...statements(kind, subject, notBefore, (notBefore + longestLife) * 1000),
      ]
      return changes.commit(
        [...more.statements, ...made],
        [['revocation', keyOf(kind, subject)], ...more.noted],
      )
    },
    revokeTree(roots, more = { statements: [], noted: [] }) {
      return changes.commit(
        [...more.statements, ...treeStatements(roots, clock.now())],
        [['revocation', ''], ...more.noted],
      )
    },
    current() {
      if (!list) {
        const now = clock.now()
        known.prune(({ expiresAt }) => expiresAt <= now)
        list = [...known.all().values()]
      }
      return list
    },
    async seq() {
      const rows = await store.run(sql`SELECT value FROM counters WHERE name = 'changes'`)
      return rows[0]!.value as number
    },
  }
}
