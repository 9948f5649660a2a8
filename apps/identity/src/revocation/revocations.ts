/** What was revoked before it ended. Every exchange and every introspection asks, so the answer is in memory. */
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { findRevocation, type RevocableClaims, type RevocationKind } from '@selvedge/service-kit/tokens'
import type { Changes, Topic } from '../changes/changes.ts'

export interface Revocation {
  readonly kind: RevocationKind
  readonly subject: string
  /** Unix second before which tokens of the subject must not have been issued. */
  readonly notBefore: number
}

export interface Revocations {
  /** Why a token is not good any more; undefined where it is. */
  reasonFor(claims: RevocableClaims, clientId?: string): string | undefined
  /** Revokes one token, or all that came from one sign-in. @param endsAt Unix second at which the last of them ends by itself */
  revokeId(id: string, endsAt: number): Promise<void>
  /**
   * Revokes every token of an account, node or client that was issued until now; those issued after this returns are good.
   *
   * @param more statements of the same transaction, and what they change
   */
  revokeAll(
    kind: Exclude<RevocationKind, 'id'>,
    subject: string,
    more?: { statements: readonly Statement[]; noted: readonly (readonly [Topic, string])[] },
  ): Promise<Row[][]>
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

/** @param longestLife seconds for which a token may live */
export async function openRevocations(
  store: SqlStore,
  clock: Clock,
  changes: Changes,
  longestLife: number,
): Promise<Revocations> {
  const known = new Map<string, Revocation & { readonly expiresAt: number }>()
  let list: readonly Revocation[] | undefined
  const keyOf = (kind: RevocationKind, subject: string) => `${kind}:${subject}`
  const before = (kind: RevocationKind, subject: string) => known.get(keyOf(kind, subject))?.notBefore

  function take(row: Row): void {
    const { kind, subject, not_before: notBefore, expires_at: expiresAt } = row as never
    known.set(keyOf(kind, subject), { kind, subject, notBefore, expiresAt })
    list = undefined
  }

  for (const row of await store.run(sql`SELECT * FROM revocations WHERE expires_at > ${clock.now()}`))
    take(row)
  changes.on('revocation', async (key) => {
    const [kind = '', subject = ''] = key.split(/:(.*)/s)
    const rows = await store.run(sql`SELECT * FROM revocations WHERE kind = ${kind} AND subject = ${subject}`)
    for (const row of rows) take(row)
  })

  function statements(
    kind: RevocationKind,
    subject: string,
    notBefore: number,
    expiresAt: number,
  ): Statement[] {
    return [
      sql`INSERT INTO revocations VALUES (${kind}, ${subject}, ${notBefore}, ${expiresAt})
        ON CONFLICT (kind, subject) DO UPDATE SET not_before = excluded.not_before, expires_at = excluded.expires_at`,
      sql`DELETE FROM revocations WHERE expires_at <= ${clock.now()}`,
    ]
  }

  return {
    reasonFor(claims, clientId) {
      if (known.size === 0) return undefined
      return findRevocation(clientId === undefined ? claims : { ...claims, client_id: clientId }, before)
    },
    async revokeId(id, endsAt) {
      const made = statements('id', id, 0, (endsAt + 60) * 1000)
      await changes.commit(made, [['revocation', keyOf('id', id)]])
    },
    async revokeAll(kind, subject, more = { statements: [], noted: [] }) {
      // Times of issue are whole seconds: this one has to be over before a new token can be told from an old one.
      const notBefore = seconds(clock) + 1
      const made = [
        ...endings[kind](subject, clock.now()),
        ...statements(kind, subject, notBefore, (notBefore + longestLife) * 1000),
      ]
      const rows = await changes.commit(
        [...more.statements, ...made],
        [['revocation', keyOf(kind, subject)], ...more.noted],
      )
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, notBefore * 1000 - clock.now())))
      return rows
    },
    current() {
      if (!list) {
        const now = clock.now()
        for (const [key, { expiresAt }] of known) if (expiresAt <= now) known.delete(key)
        list = [...known.values()]
      }
      return list
    },
    async seq() {
      const rows = await store.run(sql`SELECT value FROM counters WHERE name = 'changes'`)
      return rows[0]!.value as number
    },
  }
}
