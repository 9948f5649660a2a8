/** What a person approved for an app before: for the session of the browser, so that it ends with the sign-in to the console. */
import { hasScope } from '@selvedge/protocol/tokens'
import { type SqlStore, sql } from '@selvedge/service-kit/store'

/** For which app, account and device a person approved something. `nodeId` is "" without a device. */
interface ConsentSubject {
  readonly sessionId: string
  readonly clientId: string
  readonly accountId: string
  readonly nodeId: string
}

export interface AppConsents {
  /** Whether every scope of a list was approved in this session. */
  covers(subject: ConsentSubject, scope: string): Promise<boolean>
  remember(subject: ConsentSubject, scope: string): Promise<void>
  /** A person revoked an app, in all sessions. */
  forget(personId: string, clientId: string): Promise<void>
}

export const createAppConsents = (store: SqlStore): AppConsents => ({
  async covers({ sessionId, clientId, accountId, nodeId }, scope) {
    const [row] = await store.run(
      sql`SELECT scope FROM app_consents WHERE session_id = ${sessionId} AND client_id = ${clientId}
        AND account_id = ${accountId} AND node_id = ${nodeId}`,
    )
    return row !== undefined && scope.split(' ').every((each) => hasScope(row.scope as string, each))
  },
  async remember({ sessionId, clientId, accountId, nodeId }, scope) {
    await store.run(
      sql`INSERT INTO app_consents SELECT session_id, CAST(${clientId} AS TEXT), CAST(${accountId} AS TEXT), CAST(${nodeId} AS TEXT),
          CAST(${scope} AS TEXT) FROM sessions WHERE session_id = ${sessionId}
        ON CONFLICT (session_id, client_id, account_id, node_id) DO UPDATE SET scope = excluded.scope`,
    )
  },
  async forget(personId, clientId) {
    await store.run(
      sql`DELETE FROM app_consents WHERE client_id = ${clientId}
        AND session_id IN (SELECT session_id FROM sessions WHERE person_id = ${personId})`,
    )
  },
})
