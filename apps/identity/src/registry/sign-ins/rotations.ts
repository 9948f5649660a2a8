/**
 * Rotation of refresh tokens. The times of the last rotations of a sign-in are one text: newest first, 13 digits each, without
 * separators.
 */
import { type Row, type Statement, sql } from '@selvedge/service-kit/store'

const digits = 13
/** Rotations of which the times are stored: enough for the steps of one grace period. */
const maxRotations = 16
/** Characters of the earlier times that stay when a new one is added in front. */
const storedCharacters = digits * (maxRotations - 1)

/**
 * One step of a sign-in, from the generation of the token that was shown. It returns a row only if that is the newest generation,
 * the sign-in is valid, and its person is still a member of the account.
 *
 * @param now Unix milliseconds
 */
export const rotateStatement = (sid: string, generation: number, now: number): Statement =>
  sql`UPDATE sign_ins SET generation = generation + 1, last_used_at = ${now},
      rotations = ${String(now).padStart(digits, '0')} || substr(rotations, 1, ${storedCharacters})
    WHERE sid = ${sid} AND generation = ${generation} AND revoked_at IS NULL AND expires_at > ${now}
      AND (person_id = '' OR EXISTS (SELECT 1 FROM members WHERE members.account_id = sign_ins.account_id
        AND members.person_id = sign_ins.person_id)) RETURNING sid`

/**
 * What a refresh token of a sign-in is now. `replaced`: within its grace period, in which it gets the same successor again, since
 * responses can get lost. `reused`: after its grace period, so another program may have a copy.
 */
type Judgement = 'revoked' | 'ended' | 'newest' | 'replaced' | 'reused'

/**
 * @param row of the sign-in
 * @param now Unix milliseconds
 * @param graceMs milliseconds, inclusive
 */
export function judgeToken(row: Row, generation: number, now: number, graceMs: number): Judgement {
  if (row.revoked_at !== null) return 'revoked'
  if ((row.expires_at as number) <= now) return 'ended'
  const newest = row.generation as number
  if (generation === newest) return 'newest'
  const stepsAgo = newest - generation - 1
  if (stepsAgo < 0) return 'reused'
  // The time of a rotation that is not stored any more is 0.
  const at = Number((row.rotations as string).slice(stepsAgo * digits, (stepsAgo + 1) * digits))
  return now - at <= graceMs ? 'replaced' : 'reused'
}
