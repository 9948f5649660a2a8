import { randomUUID } from 'node:crypto'
import { RpcError } from '@selvedge/protocol'
import { type DeveloperIdClaims, developerIdProfile } from '@selvedge/protocol/tokens'
import { type Clock, isoTime, seconds } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, sql } from '@selvedge/service-kit/store'
import type { SigningKeys } from '../keys/signing-keys.ts'
import type { Account } from './accounts.ts'

interface DeveloperToken {
  readonly jti: string
  readonly accountId: string
  readonly clientId: string
  readonly issuedAt: string
  readonly expiresAt: string
  readonly revokedAt: string | null
}

export interface DeveloperTokens {
  /** Signs a developer ID token. It is not kept, only that it was made. */
  issue(
    account: Account,
    clientId: string,
    lifetime: number,
  ): Promise<{ idToken: string; jti: string; expiresAt: string }>
  /** Whether the token was revoked; answered from memory, since every exchange asks. */
  isRevoked(jti: string): boolean
  /** @throws RpcError `not_found` */
  revoke(jti: string): Promise<{ jti: string; revokedAt: string }>
  list(): Promise<DeveloperToken[]>
}

export async function openDeveloperTokens(
  store: SqlStore,
  clock: Clock,
  keys: SigningKeys,
  issuer: () => string,
): Promise<DeveloperTokens> {
  const revoked = new Set(
    (await store.run(sql`SELECT jti FROM developer_tokens WHERE revoked_at IS NOT NULL`)).map(
      (row) => row.jti,
    ),
  )
  return {
    async issue({ accountId, email }, clientId, lifetime) {
      const now = seconds(clock)
      const claims: DeveloperIdClaims = {
        iss: issuer(),
        sub: accountId,
        aud: clientId,
        iat: now,
        exp: now + lifetime,
        jti: randomUUID(),
        account_id: accountId,
        email,
        auth_time: now,
      }
      const { jti, iat, exp } = claims
      await store.run(
        sql`INSERT INTO developer_tokens VALUES (${jti}, ${accountId}, ${clientId}, ${iat * 1000}, ${exp * 1000}, NULL)`,
      )
      return { idToken: keys.sign(developerIdProfile.typ, claims), jti, expiresAt: isoTime(exp * 1000) }
    },
    isRevoked: (jti) => revoked.has(jti),
    async revoke(jti) {
      const rows = await store.run(
        sql`UPDATE developer_tokens SET revoked_at = COALESCE(revoked_at, ${clock.now()}) WHERE jti = ${jti} RETURNING revoked_at`,
      )
      if (!rows[0]) throw new RpcError('not_found', `there is no developer ID token with the jti ${jti}`)
      revoked.add(jti)
      return { jti, revokedAt: isoTime(rows[0].revoked_at as number) }
    },
    list: async () => (await store.run(sql`SELECT * FROM developer_tokens ORDER BY issued_at`)).map(toToken),
  }
}

const toToken = (row: Row): DeveloperToken => ({
  jti: row.jti as string,
  accountId: row.account_id as string,
  clientId: row.client_id as string,
  issuedAt: isoTime(row.issued_at as number),
  expiresAt: isoTime(row.expires_at as number),
  revokedAt: row.revoked_at === null ? null : isoTime(row.revoked_at as number),
})
