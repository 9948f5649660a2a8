/**
 * What a person approved for an app before: for the session of the browser, so that it ends with the sign-in to the console. What
 * is for a device is approved each time.
 */
import { hasScope } from '@selvedge/protocol/tokens'
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'

/** For which app and account a person approved something. */
interface ConsentSubject {
  readonly sessionId: string
  readonly clientId: string
  readonly accountId: string
}

export interface AppConsents {
  /** Whether every scope of a list was approved in this session. */
  covers(subject: ConsentSubject, scope: string): Promise<boolean>
  /** A statement that remembers what was approved. @param only condition under which it does */
  remember(subject: ConsentSubject, scope: string, only: Statement): Statement
  /** A person revoked an app, in all sessions. */
  forget(personId: string, clientId: string): Promise<void>
}

export const createAppConsents = (store: SqlStore): AppConsents => ({
  async covers({ sessionId, clientId, accountId }, scope) {
    const [row] = await store.run(
      sql`SELECT scope FROM app_consents WHERE session_id = ${sessionId} AND client_id = ${clientId}
        AND account_id = ${accountId}`,
    )
    return row !== undefined && scope.split(' ').every((each) => hasScope(row.scope as string, each))
  },
  remember({ sessionId, clientId, accountId }, scope, only) {
    const { sql: text, values } = sql`INSERT INTO app_consents
      SELECT session_id, CAST(${clientId} AS TEXT), CAST(${accountId} AS TEXT), CAST(${scope} AS TEXT)
      FROM sessions WHERE session_id = ${sessionId}`
    return {
      sql: `${text} AND ${only.sql} ON CONFLICT (session_id, client_id, account_id) DO UPDATE SET scope = excluded.scope
        WHERE app_consents.scope <> excluded.scope`,
      values: [...values, ...only.values],
    }
  },
  async forget(personId, clientId) {
    await store.run(
      sql`DELETE FROM app_consents WHERE client_id = ${clientId}
        AND session_id IN (SELECT session_id FROM sessions WHERE person_id = ${personId})`,
    )
  },
})
