/** Authorization requests that apps pushed before the browser comes with their `request_uri` (RFC 9126). Each is used once. */
import { hash, randomBytes } from 'node:crypto'
import { OAuthError, requestUriPrefix } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { limitKeyOf } from '@selvedge/service-kit/http'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { writeInTurn } from '../../storage/write-in-turn.ts'

export interface PushedRequests {
  /**
   * @param form the request as a form, which was checked
   * @returns its `request_uri`
   * @throws OAuthError `temporarily_unavailable` if too many wait
   */
  push(request: { clientId: string; form: string; address: string }): Promise<string>
  /** The form of a request that waits; undefined if it has expired, was used, or is of another client. */
  find(requestUri: string, clientId: string): Promise<string | undefined>
  /** Uses a request up. @returns true for exactly one caller */
  use(requestUri: string, clientId: string): Promise<boolean>
}

/** Seconds until a person must have decided. FAPI 2.0 § 5.3.2.2 wants less than 600. */
export const pushedLifeSeconds = 300
/** Requests that have not expired: from one network address (IPv6: network), of one client, and in all. */
const requestLimits = { perNetwork: 100, perClient: 2000, inAll: 10_000 }

export function createPushedRequests(store: SqlStore, clock: Clock): PushedRequests {
  return {
    async push({ clientId, form, address }) {
      const id = randomBytes(32).toString('base64url')
      const network = limitKeyOf(address)
      const now = clock.now()
      const [rows] = await writeInTurn(store, 'pushed requests', [
        sql`INSERT INTO pushed_requests SELECT CAST(${hashOf(id)} AS TEXT), CAST(${clientId} AS TEXT), CAST(${form} AS TEXT),
            CAST(${network} AS TEXT), CAST(${now + pushedLifeSeconds * 1000} AS BIGINT)
          WHERE (SELECT COUNT(*) FROM pushed_requests WHERE network = ${network} AND expires_at > ${now}) < ${requestLimits.perNetwork}
            AND (SELECT COUNT(*) FROM pushed_requests WHERE client_id = ${clientId} AND expires_at > ${now}) < ${requestLimits.perClient}
            AND (SELECT COUNT(*) FROM pushed_requests WHERE expires_at > ${now}) < ${requestLimits.inAll}
          RETURNING request_hash`,
      ])
      if (rows![0]) return requestUriPrefix + id
      throw new OAuthError(
        'temporarily_unavailable',
        'too many pushed requests of this address, of this client or in all wait for a person; try again in a minute',
        { retryAfter: 60 },
      )
    },
    async find(requestUri, clientId) {
      const [row] = await store.run(
        sql`SELECT form FROM pushed_requests WHERE request_hash = ${hashOf(idOf(requestUri))} AND client_id = ${clientId}
          AND expires_at > ${clock.now()}`,
      )
      return row?.form as string | undefined
    },
    async use(requestUri, clientId) {
      const rows = await store.run(
        sql`DELETE FROM pushed_requests WHERE request_hash = ${hashOf(idOf(requestUri))} AND client_id = ${clientId}
          AND expires_at > ${clock.now()} RETURNING 1 AS one`,
      )
      return rows.length === 1
    },
  }
}

const idOf = (requestUri: string): string => requestUri.slice(requestUriPrefix.length)
const hashOf = (id: string): string => hash('sha256', id, 'base64url')
