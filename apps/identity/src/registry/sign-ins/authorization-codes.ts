/** Authorization codes: what a person approved for an app, until the app redeems it once (RFC 6749 § 4.1.2). */
import { hash, randomBytes } from 'node:crypto'
import { OAuthError } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { writeInTurn } from '../../storage/write-in-turn.ts'
import type { DeveloperSubject } from '../projects/developer-tokens.ts'
import type { Revocations } from '../revocation/revocations.ts'
import { newSid } from './sign-ins.ts'

/** What a person approved. Texts are "" where there is no value. */
interface Authorized extends DeveloperSubject {
  readonly clientId: string
  /** As the request had it. */
  readonly redirectUri: string
  /** SHA-256 of the verifier, in base64url (RFC 7636 § 4.2). */
  readonly challenge: string
  /** Thumbprint of the key that must redeem it (RFC 9449 § 10). */
  readonly jkt: string
  readonly scope: string
  readonly audience: string | string[]
  readonly nonce: string
  readonly nodeId: string
  /** Address and program of the browser, for the person to know it again. */
  readonly described: string
}

export interface IssuedCode extends Authorized {
  /** The sign-in that it becomes. */
  readonly sid: string
  /** Number of the newest change that was known when the person approved it. */
  readonly epoch: number
  readonly isUsed: boolean
}

export interface AuthorizationCodes {
  /**
   * @param along statements of the same transaction, each under the condition that the code was issued
   * @returns the code: 32 random bytes in base64url
   * @throws OAuthError `access_denied` if the person is not a member of the account, `temporarily_unavailable` if too many wait
   */
  create(authorized: Authorized, along: (isIssued: Statement) => readonly Statement[]): Promise<string>
  /** The content of a code, used or not; undefined if it is unknown or has expired unused. */
  find(code: string): Promise<IssuedCode | undefined>
  /** Uses a code up, if its person is still a member of the account. @returns true for exactly one caller */
  use(code: string): Promise<boolean>
  /** A code came a second time: another program may have a copy. Revokes the tokens that were issued for it (RFC 6749 § 4.1.2). */
  revoke(code: Pick<IssuedCode, 'sid'>): Promise<void>
}

/** Seconds until an app must have redeemed a code. */
const codeLifeSeconds = 60
/** Milliseconds for which a code stays after its end: its reuse revokes access tokens, which live for a day at most. */
export const usedCodeRetentionMs = 25 * 3_600_000
/** Codes of one person that have not expired. */
const maxCodes = 50

/** @param epoch number of the newest change that is known */
export function createAuthorizationCodes(
  store: SqlStore,
  clock: Clock,
  epoch: () => number,
  revocations: Pick<Revocations, 'revokeTree'>,
): AuthorizationCodes {
  return {
    async create(authorized, along) {
      const { clientId, redirectUri, challenge, jkt, scope, audience, nonce, nodeId, described } = authorized
      const { accountId, personId, email, authTime } = authorized
      const code = randomBytes(32).toString('base64url')
      const codeHash = hashOf(code)
      const now = clock.now()
      const [rows] = await writeInTurn(store, `codes of ${personId}`, [
        sql`INSERT INTO authorization_codes SELECT CAST(${codeHash} AS TEXT), CAST(${newSid()} AS TEXT), CAST(${clientId} AS TEXT),
            CAST(${redirectUri} AS TEXT), CAST(${challenge} AS TEXT), CAST(${jkt} AS TEXT), CAST(${scope} AS TEXT),
            CAST(${JSON.stringify(audience)} AS TEXT), CAST(${nonce} AS TEXT), CAST(${nodeId} AS TEXT), CAST(${accountId} AS TEXT),
            CAST(${personId} AS TEXT), CAST(${email} AS TEXT), CAST(${authTime} AS BIGINT), CAST(${epoch()} AS BIGINT),
            CAST(${described} AS TEXT), CAST(${now + codeLifeSeconds * 1000} AS BIGINT), NULL
          WHERE (SELECT COUNT(*) FROM authorization_codes WHERE person_id = ${personId} AND expires_at > ${now}) < ${maxCodes}
            AND EXISTS (SELECT 1 FROM members WHERE account_id = ${accountId} AND person_id = ${personId})
          RETURNING sid`,
        ...along(sql`EXISTS (SELECT 1 FROM authorization_codes WHERE code_hash = ${codeHash})`),
      ])
      if (rows![0]) return code
      const isMember = await store.run(
        sql`SELECT 1 AS found FROM members WHERE account_id = ${accountId} AND person_id = ${personId}`,
      )
      if (isMember.length === 0)
        throw new OAuthError('access_denied', 'the person is not a member of the account')
      throw new OAuthError(
        'temporarily_unavailable',
        'too many sign-ins at the same time; try again in a minute',
        {
          retryAfter: codeLifeSeconds,
        },
      )
    },
    async find(code) {
      const [row] = await store.run(
        sql`SELECT * FROM authorization_codes WHERE code_hash = ${hashOf(code)}
          AND (used_at IS NOT NULL OR expires_at > ${clock.now()})`,
      )
      return row && toCode(row)
    },
    async use(code) {
      const now = clock.now()
      const rows = await store.run(
        sql`UPDATE authorization_codes SET used_at = ${now} WHERE code_hash = ${hashOf(code)} AND used_at IS NULL AND expires_at > ${now}
          AND EXISTS (SELECT 1 FROM members WHERE members.account_id = authorization_codes.account_id
            AND members.person_id = authorization_codes.person_id) RETURNING sid`,
      )
      return rows.length === 1
    },
    async revoke({ sid }) {
      await revocations.revokeTree(sql`SELECT CAST(${sid} AS TEXT) AS id`)
    },
  }
}

const hashOf = (code: string): string => hash('sha256', code, 'base64url')

const toCode = (row: Row): IssuedCode => ({
  sid: row.sid as string,
  clientId: row.client_id as string,
  redirectUri: row.redirect_uri as string,
  challenge: row.challenge as string,
  jkt: row.jkt as string,
  scope: row.scope as string,
  audience: JSON.parse(row.audience as string),
  nonce: row.nonce as string,
  nodeId: row.node_id as string,
  accountId: row.account_id as string,
  personId: row.person_id as string,
  email: row.email as string,
  authTime: row.auth_time as number,
  epoch: row.epoch as number,
  described: row.described as string,
  isUsed: row.used_at !== null,
})
