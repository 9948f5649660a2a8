/** Sign-ins from a terminal that wait for approval by a person (RFC 8628). */
import { hash, randomBytes, randomInt } from 'node:crypto'
import { OAuthError } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { limitKeyOf } from '@selvedge/service-kit/http'
import { type Row, type SqlStore, sql } from '@selvedge/service-kit/store'
import { writeInTurn } from '../../storage/write-in-turn.ts'
import type { DeveloperSubject } from '../projects/developer-tokens.ts'
import { newSid } from './sign-ins.ts'

export interface DeviceRequest {
  readonly clientId: string
  readonly scope: string
  readonly userCode: string
  /** Where the request came from, for the person who decides to compare. */
  readonly address: string
  readonly userAgent: string
  readonly createdAt: string
}

interface NewDeviceRequest {
  readonly clientId: string
  readonly scope: string
  /** Thumbprint of the key that the tokens will be bound to; "" where they will not. */
  readonly jkt: string
  readonly address: string
  readonly userAgent: string
}

export type Approved = DeveloperSubject &
  NewDeviceRequest & {
    readonly sid: string
    /** Number of the newest change that was known when a person approved it. */
    readonly epoch: number
  }

export type Poll =
  | { readonly outcome: 'pending' | 'too_fast' | 'denied' | 'ended' | 'unknown' }
  | { readonly outcome: 'approved'; readonly approved: Approved }

export interface DeviceRequests {
  /** @throws OAuthError `temporarily_unavailable` if too many wait */
  create(request: NewDeviceRequest): Promise<{ deviceCode: string; userCode: string }>
  /** The request of a user code that waits for a decision. */
  find(userCode: string): Promise<DeviceRequest | undefined>
  /** Decides once. @param by who approves; undefined: refused @returns whether the request still waited */
  decide(userCode: string, by: DeveloperSubject | undefined): Promise<boolean>
  /** One poll of the device. An approved request is given out once; again only within the grace, for lost answers. */
  poll(deviceCode: string, clientId: string): Promise<Poll>
}

/** Seconds: life of a request, first interval between polls, and by how much a poll that comes too early lengthens it (§ 3.5). */
export const deviceTimes = { lifeSeconds: 600, intervalSeconds: 5, slowDownSeconds: 5 }
/** Milliseconds for which a request that expired stays, so that its code gets a clear answer. */
export const expiredRequestRetentionMs = 120_000
/** Requests that have not expired: from one network address (IPv6: network), and in all. */
const requestLimits = { perNetwork: 30, inAll: 10_000 }
/** No vowels, no letters that look similar: 20^8 codes (§ 6.1). */
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ'
/** Milliseconds by which a poll may be early: clocks of devices and networks are what they are. */
const toleranceMs = 500

/** @param epoch number of the newest change that is known */
export function createDeviceRequests(
  store: SqlStore,
  clock: Clock,
  graceSeconds: number,
  epoch: () => number,
): DeviceRequests {
  return {
    async create({ clientId, scope, jkt, address, userAgent }) {
      const now = clock.now()
      const network = limitKeyOf(address)
      const deviceCode = randomBytes(32).toString('base64url')
      for (let attempt = 0; attempt < 3; attempt++) {
        const userCode = Array.from({ length: 8 }, () => alphabet[randomInt(alphabet.length)]).join('')
        const [rows] = await writeInTurn(store, 'device requests', [
          sql`INSERT INTO device_requests SELECT CAST(${hashOf(deviceCode)} AS TEXT), CAST(${userCode} AS TEXT),
              CAST(${clientId} AS TEXT), CAST(${scope} AS TEXT), CAST(${jkt} AS TEXT), CAST(${address} AS TEXT),
              CAST(${userAgent} AS TEXT), CAST(${now} AS BIGINT), CAST(${now + deviceTimes.lifeSeconds * 1000} AS BIGINT),
              CAST(${deviceTimes.intervalSeconds} AS BIGINT), 0, 0, 'pending', CAST(${newSid()} AS TEXT), NULL, '', '', '', 0, NULL,
              CAST(${network} AS TEXT)
            WHERE (SELECT COUNT(*) FROM device_requests WHERE network = ${network} AND expires_at > ${now}) < ${requestLimits.perNetwork}
              AND (SELECT COUNT(*) FROM device_requests WHERE expires_at > ${now}) < ${requestLimits.inAll}
            ON CONFLICT DO NOTHING RETURNING user_code`,
        ])
        if (rows![0]) return { deviceCode, userCode: `${userCode.slice(0, 4)}-${userCode.slice(4)}` }
      }
      throw new OAuthError(
        'temporarily_unavailable',
        'too many sign-ins from this address, or in all, wait to be approved; try again in a minute',
        { retryAfter: 60 },
      )
    },
    async find(userCode) {
      const rows = await store.run(
        sql`SELECT * FROM device_requests WHERE user_code = ${normal(userCode)} AND state = 'pending' AND expires_at > ${clock.now()}`,
      )
      return rows[0] && toRequest(rows[0])
    },
    async decide(userCode, by) {
      const { accountId, personId, email, authTime } = by ?? {
        accountId: '',
        personId: '',
        email: '',
        authTime: 0,
      }
      const state = by ? 'approved' : 'denied'
      const rows = await store.run(
        sql`UPDATE device_requests SET state = ${state}, account_id = ${accountId}, person_id = ${personId},
            email = ${email}, auth_time = ${authTime}, epoch = ${epoch()}
          WHERE user_code = ${normal(userCode)} AND state = 'pending' AND expires_at > ${clock.now()}
            AND (${personId} = '' OR EXISTS (SELECT 1 FROM members WHERE account_id = ${accountId} AND person_id = ${personId}))
          RETURNING user_code`,
      )
      return rows.length === 1
    },
    async poll(deviceCode, clientId) {
      const now = clock.now()
      const hash = hashOf(deviceCode)
      // Also once more within the grace: answers get lost. What it gives is the same sign-in.
      const [used] = await store.run(
        sql`UPDATE device_requests SET state = 'used', used_at = COALESCE(used_at, ${now})
          WHERE device_hash = ${hash} AND client_id = ${clientId}
            AND (state = 'approved' AND expires_at > ${now} OR state = 'used' AND used_at >= ${now - graceSeconds * 1000})
            AND EXISTS (SELECT 1 FROM members WHERE members.account_id = device_requests.account_id
              AND members.person_id = device_requests.person_id) RETURNING *`,
      )
      if (used) return { outcome: 'approved', approved: toApproved(used) }
      const [row] = await store.run(
        sql`UPDATE device_requests SET polled_at = ${now},
            too_fast = CASE WHEN ${now} - polled_at < step * 1000 - ${toleranceMs} THEN 1 ELSE 0 END,
            step = CASE WHEN ${now} - polled_at < step * 1000 - ${toleranceMs} THEN step + ${deviceTimes.slowDownSeconds} ELSE step END
          WHERE device_hash = ${hash} AND client_id = ${clientId} RETURNING *`,
      )
      if (!row) return { outcome: 'unknown' }
      if (row.state === 'denied') return { outcome: 'denied' }
      if (row.state === 'used') return { outcome: 'ended' }
      if ((row.expires_at as number) <= now) return { outcome: 'ended' }
      return { outcome: row.too_fast === 1 ? 'too_fast' : 'pending' }
    },
  }
}

const hashOf = (code: string): string => hash('sha256', code, 'base64url')

/** As a person types it: any case, with or without hyphen and spaces. */
const normal = (userCode: string): string => userCode.toUpperCase().replaceAll(/[^A-Z]/g, '')

const toRequest = (row: Row): DeviceRequest => {
  const code = row.user_code as string
  return {
    clientId: row.client_id as string,
    scope: row.scope as string,
    userCode: `${code.slice(0, 4)}-${code.slice(4)}`,
    address: row.address as string,
    userAgent: row.user_agent as string,
    createdAt: isoTime(row.created_at as number),
  }
}

const toApproved = (row: Row): Approved => ({
  sid: row.sid as string,
  clientId: row.client_id as string,
  scope: row.scope as string,
  jkt: row.jkt as string,
  address: row.address as string,
  userAgent: row.user_agent as string,
  accountId: row.account_id as string,
  personId: row.person_id as string,
  email: row.email as string,
  authTime: row.auth_time as number,
  epoch: (row.epoch as number | null) ?? 0,
})
