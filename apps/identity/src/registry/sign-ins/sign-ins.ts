/**
 * Sign-ins with refresh tokens: each is a token family, of which one token is valid at a time. A refresh token is
 * `<sid>.<generation>.<seal>`. The seal is an HMAC: the same step always leads to the same successor, and only the number of the
 * generation is stored.
 */
import { randomUUID } from 'node:crypto'
import { OAuthError } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, sql } from '@selvedge/service-kit/store'
import type { Revocations } from '../revocation/revocations.ts'
import { createRefreshTokens } from './refresh-tokens.ts'
import { judgeToken, rotateStatement } from './rotations.ts'
import {
  insertAppSignIn,
  insertSignIn,
  type NewSignIn,
  type SignIn,
  signInsWhere,
  toSignIn,
} from './sign-in-rows.ts'

export type { SignIn }

type Rotation =
  | { readonly outcome: 'ok'; readonly refreshToken: string }
  /** `reused`: an old token came after its grace, so the whole sign-in was revoked. */
  | { readonly outcome: 'unknown' | 'ended' | 'revoked' | 'reused' }

export interface SignIns {
  /**
   * Begins a sign-in, if its person is a member of the account and nothing that it rests on was revoked. Repeated with the same
   * `sid`, it gives the same first token.
   *
   * @throws OAuthError `invalid_grant`
   */
  begin(signIn: NewSignIn): Promise<string>
  /** The sign-in of a refresh token, in any state; undefined if this service did not issue the token. */
  find(refreshToken: string): Promise<SignIn | undefined>
  /** Whether a refresh token would be accepted now: the newest, or the one before it within its grace period. */
  isCurrent(refreshToken: string): Promise<boolean>
  /**
   * One step: the token's successor, once. The same token again within the grace gets the very same successor; later it
   * revokes the sign-in.
   */
  rotate(refreshToken: string): Promise<Rotation>
  /** Revokes a sign-in, and those that came from it. @returns whether it was not revoked yet */
  revoke(sid: string): Promise<boolean>
  /** Live ones of an account that a person approved or a node holds. */
  list(accountId: string): Promise<SignIn[]>
}

export interface SignInsOptions {
  readonly store: SqlStore
  readonly clock: Clock
  /** Seals the tokens; shared by the replicas. */
  readonly secret: Buffer
  readonly revocations: Revocations
  /** Seconds. */
  readonly lifetimeSeconds: number
  readonly graceSeconds: number
}

/** Milliseconds for which the row of an expired sign-in is stored, to distinguish its tokens from unknown ones. */
export const expiredSignInRetentionMs = 30 * 86_400_000

export function createSignIns({
  store,
  clock,
  secret,
  revocations,
  lifetimeSeconds,
  graceSeconds,
}: SignInsOptions): SignIns {
  const tokens = createRefreshTokens(secret)

  async function rowOf(sid: string): Promise<Row | undefined> {
    return (await store.run(signInsWhere('sign_ins.sid = ?', sid)))[0]
  }

  async function revoke(sid: string): Promise<boolean> {
    return (await revocations.revokeTree(sql`SELECT sid AS id FROM sign_ins WHERE sid = ${sid}`)).isNews
  }

  const judge = (row: Row, generation: number) =>
    judgeToken(row, generation, clock.now(), graceSeconds * 1000)

  /** What becomes of a token that could not be rotated. */
  async function lookBack(sid: string, generation: number): Promise<Rotation> {
    const row = await rowOf(sid)
    if (!row) return { outcome: 'unknown' }
    const outcome = judge(row, generation)
    if (outcome === 'replaced') return { outcome: 'ok', refreshToken: tokens.make(sid, generation + 1) }
    // The newest token was refused: the person is no longer a member of the account.
    if (outcome === 'newest') return { outcome: 'revoked' }
    if (outcome === 'reused') await revoke(sid)
    return { outcome }
  }

  return {
    revoke,
    async begin(signIn) {
      const { sid } = signIn
      const [rows] = await store.transaction([
        insertSignIn(signIn, clock.now(), lifetimeSeconds),
        ...(signIn.isOfApp ? [insertAppSignIn(signIn)] : []),
      ])
      if (rows!.length === 0 && !(await rowOf(sid)))
        throw new OAuthError(
          'invalid_grant',
          'what the sign-in rests on was revoked meanwhile; sign in again',
        )
      return tokens.make(sid, 0)
    },
    async find(token) {
      const parsed = tokens.parse(token)
      const row = parsed && (await rowOf(parsed.sid))
      return row && toSignIn(row)
    },
    async isCurrent(token) {
      const parsed = tokens.parse(token)
      const row = parsed && (await rowOf(parsed.sid))
      return row !== undefined && ['newest', 'replaced'].includes(judge(row, parsed!.generation))
    },
    async rotate(token) {
      const parsed = tokens.parse(token)
      if (!parsed) return { outcome: 'unknown' }
      const { sid, generation } = parsed
      // This one statement decides: only one request finds the generation of its token.
      const rows = await store.run(rotateStatement(sid, generation, clock.now()))
      if (!rows[0]) return lookBack(sid, generation)
      return { outcome: 'ok', refreshToken: tokens.make(sid, generation + 1) }
    },
    async list(accountId) {
      const rows = await store.run(
        signInsWhere('account_id = ? AND revoked_at IS NULL AND expires_at > ?', accountId, clock.now()),
      )
      return rows.map(toSignIn)
    },
  }
}

export const newSid = (): string => randomUUID()
