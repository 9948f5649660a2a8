/** Secrets that can be used once: challenges of passkeys, and sign-ins with the provider of a company. Only their hashes are stored. */
import { hash, randomBytes } from 'node:crypto'
import type { Clock } from '@selvedge/service-kit/clock'
import { type SqlStore, sql } from '@selvedge/service-kit/store'

type Purpose = 'passkey-sign-in' | 'passkey-registration' | 'company-sign-in'

export interface OneTime {
  /** @param lifeSeconds seconds @returns the secret: 32 random bytes in base64url */
  create(purpose: Purpose, payload: object, lifeSeconds: number): Promise<string>
  /** Uses a secret up. Exactly one caller gets its payload. */
  use(purpose: Purpose, secret: string): Promise<Record<string, string> | undefined>
}

export function createOneTime(store: SqlStore, clock: Clock): OneTime {
  return {
    async create(purpose, payload, lifeSeconds) {
      const secret = randomBytes(32).toString('base64url')
      const now = clock.now()
      await store.run(
        sql`INSERT INTO one_time VALUES (${hashOf(secret)}, ${purpose}, ${JSON.stringify(payload)}, ${now + lifeSeconds * 1000})`,
      )
      return secret
    },
    async use(purpose, secret) {
      const rows = await store.run(
        sql`DELETE FROM one_time WHERE hash = ${hashOf(secret)} AND purpose = ${purpose} AND expires_at > ${clock.now()}
          RETURNING payload`,
      )
      return rows[0] && JSON.parse(rows[0].payload as string)
    },
  }
}

const hashOf = (secret: string): string => hash('sha256', secret, 'base64url')
