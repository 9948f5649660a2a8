/** The rows of every table that expire. */
import type { SqlStore } from '@selvedge/service-kit/store'
import { sessionTimes } from './console/sessions.ts'
import { endedRequestLife } from './grants/device-requests.ts'
import { endedSignInLife } from './grants/sign-ins.ts'
import { endedTokenLife } from './registry/developer-tokens.ts'
import { type ExpiredRows, removeExpired, type SweepTask } from './sweep/sweep.ts'

const tables: readonly ExpiredRows[] = [
  { table: 'one_time', key: 'hash', column: 'expires_at' },
  { table: 'buckets', key: 'key', column: 'full_at' },
  { table: 'used_proofs', key: 'id', column: 'expires_at' },
  { table: 'links', key: 'link_id', column: 'expires_at' },
  { table: 'device_requests', key: 'device_hash', column: 'expires_at', keepMs: endedRequestLife },
  { table: 'sessions', key: 'session_id', column: 'expires_at' },
  { table: 'sessions', key: 'session_id', column: 'last_seen_at', keepMs: sessionTimes.idle },
  { table: 'enrolment_codes', key: 'hash', column: 'expires_at' },
  { table: 'developer_tokens', key: 'jti', column: 'expires_at', keepMs: endedTokenLife },
  { table: 'sign_ins', key: 'sid', column: 'expires_at', keepMs: endedSignInLife },
]

export const removeExpiredRows = (store: SqlStore): readonly SweepTask[] =>
  tables.map((rows) => removeExpired(store, rows))
