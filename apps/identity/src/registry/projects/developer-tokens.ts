import { randomUUID } from 'node:crypto'
import { RpcError } from '@selvedge/protocol'
import { type DeveloperIdClaims, developerIdProfile } from '@selvedge/protocol/tokens'
import { type Clock, isoTime, seconds } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { type Row, type SqlStore, sql } from '@selvedge/service-kit/store'
import { writeInTurn } from '../../storage/write-in-turn.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import type { Revocations } from '../revocation/revocations.ts'
import { createUseNotes } from '../use-notes.ts'

interface DeveloperToken {
  readonly jti: string
  readonly accountId: string
  readonly personId: string
  readonly clientId: string
  readonly issuedAt: string
  readonly expiresAt: string
  readonly lastUsedAt: string | null
  readonly revokedAt: string | null
}

/** For whom a token is made. */
export interface DeveloperSubject {
  readonly accountId: string
  readonly personId: string
  readonly email: string
  /** Unix seconds of the sign-in. */
  readonly authTime: number
}

export interface DeveloperTokens {
  /**
   * Signs a developer ID token. It is not stored, only that it was made.
   *
   * @param subject.personId "" if the operator makes it for the account
   * @throws RpcError `limit_exceeded`, or `conflict` if the person left the account or the project is turned off
   */
  issue(
    subject: DeveloperSubject,
    clientId: string,
    lifetimeSeconds: number,
  ): Promise<{ idToken: string; jti: string; expiresAt: string }>
  /** Signs a token that is part of a sign-in and ends with it; it is not stored. */
  issueFor(
    subject: DeveloperSubject,
    clientId: string,
    grant: { lifetimeSeconds: number; sid: string; epoch: number; scope: string },
  ): string
  /** Notes that a token was used; written down a moment later with others, since every exchange comes here. */
  noteUse(jti: string): void
  /**
   * Revokes a token and all tokens that were issued from it.
   *
   * @returns `isNews`: whether it was not revoked yet
   * @throws RpcError `not_found`
   */
  revoke(jti: string): Promise<{ jti: string; revokedAt: string; isNews: boolean }>
  /** All of them, or those of an account. */
  list(accountId?: string): Promise<DeveloperToken[]>
  find(jti: string): Promise<DeveloperToken | undefined>
}

/** Milliseconds for which a token that expired is still shown. */
export const expiredTokenRetentionMs = 30 * 86_400_000

export interface DeveloperTokensOptions {
  readonly store: SqlStore
  readonly clock: Clock
  readonly log: Log
  readonly keys: SigningKeys
  readonly issuer: () => string
  /** Number of the newest change that is known. */
  readonly epoch: () => number
  readonly revocations: Revocations
  /** Tokens of one account that have not expired. */
  readonly maxTokens: number
}

export function createDeveloperTokens(options: DeveloperTokensOptions): DeveloperTokens {
  const { store, clock, keys, issuer, revocations, maxTokens } = options
  const noteUse = createUseNotes(
    options,
    'developer ID tokens',
    (jti, at) => sql`UPDATE developer_tokens SET last_used_at = ${at} WHERE jti = ${jti}`,
  )

  function claimsFor(
    { accountId, email, authTime }: DeveloperSubject,
    clientId: string,
    lifetimeSeconds: number,
    epoch: number,
  ): DeveloperIdClaims {
    const now = seconds(clock)
    return {
      iss: issuer(),
      sub: accountId,
      aud: clientId,
      iat: now,
      exp: now + lifetimeSeconds,
      jti: randomUUID(),
      account_id: accountId,
      email,
      auth_time: authTime,
      epoch,
    }
  }

  async function find(jti: string): Promise<DeveloperToken | undefined> {
    const rows = await store.run(sql`SELECT * FROM developer_tokens WHERE jti = ${jti}`)
    return rows[0] && toToken(rows[0])
  }

  async function whyNot(accountId: string): Promise<RpcError> {
    const all = await list(accountId)
    if (all.filter(({ expiresAt }) => expiresAt > isoTime(clock.now())).length < maxTokens)
      return new RpcError(
        'conflict',
        'you are no longer a member of the account, or the project is turned off',
      )
    return new RpcError('limit_exceeded', `the account has ${maxTokens} developer ID tokens already`, {
      hint: 'They count until they expire: use one token for a whole fleet, or ask the operator to raise limits.developerTokens.',
    })
  }

  async function list(accountId?: string): Promise<DeveloperToken[]> {
    const rows = await store.run(
      accountId === undefined
        ? sql`SELECT * FROM developer_tokens ORDER BY issued_at`
        : sql`SELECT * FROM developer_tokens WHERE account_id = ${accountId} ORDER BY issued_at DESC`,
    )
    return rows.map(toToken)
  }

  return {
    find,
    list,
    async issue(subject, clientId, lifetimeSeconds) {
      const claims = claimsFor(subject, clientId, lifetimeSeconds, options.epoch())
      const { jti, iat, exp } = claims
      const { accountId, personId } = subject
      // Before it is stored: while the keys may be outdated, nothing is signed.
      const idToken = keys.sign(developerIdProfile.typ, claims)
      const [rows] = await writeInTurn(store, `developer tokens of ${accountId}`, [
        sql`INSERT INTO developer_tokens SELECT CAST(${jti} AS TEXT), CAST(${accountId} AS TEXT), CAST(${clientId} AS TEXT),
            CAST(${iat * 1000} AS BIGINT), CAST(${exp * 1000} AS BIGINT), NULL, CAST(${personId} AS TEXT), NULL
          WHERE (${personId} = '' OR EXISTS (SELECT 1 FROM members WHERE account_id = ${accountId} AND person_id = ${personId}))
            AND EXISTS (SELECT 1 FROM projects WHERE client_id = ${clientId} AND active = 1)
            AND (SELECT COUNT(*) FROM developer_tokens WHERE account_id = ${accountId} AND expires_at > ${iat * 1000}) < ${maxTokens}
          RETURNING jti`,
      ])
      if (!rows![0]) throw await whyNot(accountId)
      return { idToken, jti, expiresAt: isoTime(exp * 1000) }
    },
    issueFor: (subject, clientId, { lifetimeSeconds, sid, epoch, scope }) =>
      keys.sign(developerIdProfile.typ, {
        ...claimsFor(subject, clientId, lifetimeSeconds, epoch),
        sid,
        scope,
      }),
    noteUse,
    async revoke(jti) {
      if (!(await find(jti)))
        throw new RpcError('not_found', `there is no developer ID token with the jti ${jti}`)
      const { isNews } = await revocations.revokeTree(sql`SELECT CAST(${jti} AS TEXT) AS id`)
      return { jti, revokedAt: (await find(jti))!.revokedAt!, isNews }
    },
  }
}

const toToken = (row: Row): DeveloperToken => ({
  jti: row.jti as string,
  accountId: row.account_id as string,
  personId: row.person_id as string,
  clientId: row.client_id as string,
  issuedAt: isoTime(row.issued_at as number),
  expiresAt: isoTime(row.expires_at as number),
  lastUsedAt: row.last_used_at === null ? null : isoTime(row.last_used_at as number),
  revokedAt: row.revoked_at === null ? null : isoTime(row.revoked_at as number),
})
