/** The rows of every table that expire. */
import type { SqlStore } from '@selvedge/service-kit/store'
import { type ExpiredRows, removeExpired, type SweepTask } from '../storage/sweep/sweep.ts'
import { sessionTimes } from './credentials/sessions.ts'
import { expiredTokenRetentionMs } from './projects/developer-tokens.ts'
import { issuerKeysValidMs } from './projects/issuer-key-sets.ts'
import { usedCodeRetentionMs } from './sign-ins/authorization-codes.ts'
import { expiredRequestRetentionMs } from './sign-ins/device-requests.ts'
import { expiredSignInRetentionMs } from './sign-ins/sign-ins.ts'

/** The removal of a person finds sign-ins, and their leases, by what they came from. @param id column */
const hasSignIns = (id: string): string =>
  `EXISTS (SELECT 1 FROM sign_ins AS later WHERE later.origin = ${id})`

const tables: readonly ExpiredRows[] = [
  { table: 'one_time', key: 'hash', column: 'expires_at' },
  { table: 'buckets', key: 'key', column: 'full_at' },
  { table: 'used_proofs', key: 'id', column: 'expires_at' },
  { table: 'links', key: 'link_id', column: 'expires_at' },
  { table: 'device_requests', key: 'device_hash', column: 'expires_at', keepMs: expiredRequestRetentionMs },
  { table: 'pushed_requests', key: 'request_hash', column: 'expires_at' },
  { table: 'authorization_codes', key: 'code_hash', column: 'expires_at', keepMs: usedCodeRetentionMs },
  { table: 'sessions', key: 'session_id', column: 'expires_at' },
  { table: 'sessions', key: 'session_id', column: 'last_seen_at', keepMs: sessionTimes.idleMs },
  { table: 'enrolment_codes', key: 'hash', column: 'expires_at' },
  {
    table: 'developer_tokens',
    key: 'jti',
    column: 'expires_at',
    keepMs: expiredTokenRetentionMs,
    unless: hasSignIns('developer_tokens.jti'),
  },
  {
    table: 'sign_ins',
    key: 'sid',
    column: 'expires_at',
    keepMs: expiredSignInRetentionMs,
    unless: hasSignIns('sign_ins.sid'),
  },
  { table: 'project_issuers', key: 'issuer_id', column: 'removed_at' },
  { table: 'service_shares', key: 'share_id', column: 'expires_at' },
  { table: 'service_shares', key: 'share_id', column: 'revoked_at' },
  { table: 'group_members', key: 'member_id', column: 'revoked_at' },
  { table: 'person_groups', key: 'group_id', column: 'revoked_at' },
  { table: 'issuer_key_sets', key: 'issuer_key', column: 'fetched_at', keepMs: issuerKeysValidMs },
]

export const removeExpiredRows = (store: SqlStore): readonly SweepTask[] =>
  tables.map((rows) => removeExpired(store, rows))
