/**
 * Sign-ins that last: each is a family of refresh tokens, one of which is valid at a time. A refresh token is
 * `<sid>.<generation>.<seal>`, its seal an HMAC, so that the same step always leads to the same successor and nothing has to be
 * kept of it but the number.
 */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import { OAuthError } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, sql } from '@selvedge/service-kit/store'
import type { Revocations } from '../revocation/revocations.ts'

export interface SignIn {
  readonly sid: string
  readonly clientId: string
  readonly accountId: string
  /** Who approved it; "" where a developer ID token was exchanged. */
  readonly personId: string
  readonly email: string
  /** Node that its access tokens are for; "" where they are for a person alone. */
  readonly nodeId: string
  /** `jti` of the developer ID token that it came from; "" where a person approved it. */
  readonly origin: string
  readonly scope: string
  readonly audience: string | string[]
  /** Thumbprint of the key that refresh tokens are bound to; "" where they are not. */
  readonly jkt: string
  readonly authTime: number
  /** Number of the newest change that was known when it began; undefined: it is from before there were numbers. */
  readonly epoch: number | undefined
  readonly createdAt: number
  readonly expiresAt: number
  readonly lastUsedAt: number
  /** Where it began: address and program, for the person to know it again. */
  readonly described: string
}

type NewSignIn = Omit<SignIn, 'createdAt' | 'expiresAt' | 'lastUsedAt'>

type Rotation =
  | { readonly outcome: 'ok'; readonly signIn: SignIn; readonly refreshToken: string }
  /** `reused`: an old token came after its grace, so the whole sign-in was revoked. */
  | { readonly outcome: 'unknown' | 'ended' | 'revoked' | 'reused'; readonly signIn?: SignIn }

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
  readonly lifetime: number
  readonly grace: number
}

/** Times of the last rotations, newest first, as 13 digits each: enough for as many steps within one grace. */
const remembered = 16
const digits = 13
/** Milliseconds for which the row of an ended sign-in is stored, to distinguish its tokens from unknown ones. */
export const endedSignInLife = 30 * 86_400_000

export function createSignIns({
  store,
  clock,
  secret,
  revocations,
  lifetime,
  grace,
}: SignInsOptions): SignIns {
  const tokenOf = (sid: string, generation: number) => {
    const seal = createHmac('sha256', secret).update(`refresh ${sid} ${generation}`).digest('base64url')
    return `${sid}.${generation}.${seal}`
  }

  function parse(token: string): { sid: string; generation: number } | undefined {
    const match = /^([0-9a-f-]{36})\.(\d{1,12})\.[\w-]{43}$/.exec(token)
    if (!match) return undefined
    const [, sid, number] = match as unknown as [string, string, string]
    const expected = Buffer.from(tokenOf(sid, Number(number)))
    const given = Buffer.from(token)
    if (expected.length !== given.length || !timingSafeEqual(expected, given)) return undefined
    return { sid, generation: Number(number) }
  }

  async function rowOf(sid: string): Promise<Row | undefined> {
    return (await store.run(sql`SELECT * FROM sign_ins WHERE sid = ${sid}`))[0]
  }

  async function revoke(sid: string): Promise<boolean> {
    return (await revocations.revokeTree(sql`SELECT sid AS id FROM sign_ins WHERE sid = ${sid}`)).isNews
  }

  /** Whether a token that is not the newest any more was replaced within the grace. */
  function isInGrace({ generation: newest, rotations }: Row, generation: number): boolean {
    const stepsAgo = (newest as number) - generation - 1
    const at = (rotations as string).slice(stepsAgo * digits, (stepsAgo + 1) * digits)
    return stepsAgo >= 0 && at !== '' && clock.now() - Number(at) <= grace * 1000
  }

  /** What becomes of a token that was not the newest. */
  async function lookBack(sid: string, generation: number): Promise<Rotation> {
    const row = await rowOf(sid)
    if (!row) return { outcome: 'unknown' }
    const signIn = toSignIn(row)
    if (row.revoked_at !== null) return { outcome: 'revoked', signIn }
    if (signIn.expiresAt <= clock.now()) return { outcome: 'ended', signIn }
    // The newest one was refused: the person is not a member of the account any more.
    if (row.generation === generation) return { outcome: 'revoked', signIn }
    if (isInGrace(row, generation))
      return { outcome: 'ok', signIn, refreshToken: tokenOf(sid, generation + 1) }
    await revoke(sid)
    return { outcome: 'reused', signIn }
  }

  return {
    revoke,
    async begin(signIn) {
      const {
        sid,
        clientId,
        accountId,
        personId,
        email,
        nodeId,
        origin,
        scope,
        audience,
        jkt,
        authTime,
        epoch,
        described,
      } = signIn
      const now = clock.now()
      const [row] = await store.run(
        sql`INSERT INTO sign_ins SELECT CAST(${sid} AS TEXT), CAST(${clientId} AS TEXT), CAST(${accountId} AS TEXT),
            CAST(${personId} AS TEXT), CAST(${email} AS TEXT), CAST(${nodeId} AS TEXT), CAST(${origin} AS TEXT), CAST(${scope} AS TEXT),
            CAST(${JSON.stringify(audience)} AS TEXT), CAST(${jkt} AS TEXT), CAST(${authTime} AS BIGINT), CAST(${now} AS BIGINT),
            CAST(${now + lifetime * 1000} AS BIGINT), NULL, 0, '', CAST(${now} AS BIGINT), CAST(${described} AS TEXT),
            CAST(${epoch ?? null} AS BIGINT)
          WHERE (${personId} = '' OR EXISTS (SELECT 1 FROM members WHERE account_id = ${accountId} AND person_id = ${personId}))
            AND NOT EXISTS (SELECT 1 FROM revocations WHERE kind = 'id' AND subject IN (${sid}, ${origin})
              OR epoch > ${epoch ?? 0} AND (kind = 'account' AND subject = ${accountId}
                OR kind = 'client' AND subject = ${clientId} OR kind = 'node' AND subject = ${nodeId}))
          ON CONFLICT (sid) DO NOTHING RETURNING sid`,
      )
      if (!row && !(await rowOf(sid)))
        throw new OAuthError(
          'invalid_grant',
          'what the sign-in rests on was revoked meanwhile; sign in again',
        )
      return tokenOf(sid, 0)
    },
    async find(token) {
      const parsed = parse(token)
      const row = parsed && (await rowOf(parsed.sid))
      return row && toSignIn(row)
    },
    async isCurrent(token) {
      const parsed = parse(token)
      const row = parsed && (await rowOf(parsed.sid))
      if (!row || row.revoked_at !== null || (row.expires_at as number) <= clock.now()) return false
      return row.generation === parsed.generation || isInGrace(row, parsed.generation)
    },
    async rotate(token) {
      const parsed = parse(token)
      if (!parsed) return { outcome: 'unknown' }
      const { sid, generation } = parsed
      const now = clock.now()
      // This one statement decides: only the caller that finds the generation of its token takes the step.
      const rows = await store.run(
        sql`UPDATE sign_ins SET generation = generation + 1, last_used_at = ${now},
            rotations = ${String(now).padStart(digits, '0')} || substr(rotations, 1, ${digits * (remembered - 1)})
          WHERE sid = ${sid} AND generation = ${generation} AND revoked_at IS NULL AND expires_at > ${now}
            AND (person_id = '' OR EXISTS (SELECT 1 FROM members WHERE members.account_id = sign_ins.account_id
              AND members.person_id = sign_ins.person_id)) RETURNING *`,
      )
      if (!rows[0]) return lookBack(sid, generation)
      return { outcome: 'ok', signIn: toSignIn(rows[0]), refreshToken: tokenOf(sid, generation + 1) }
    },
    async list(accountId) {
      const rows = await store.run(
        sql`SELECT * FROM sign_ins WHERE account_id = ${accountId} AND revoked_at IS NULL AND expires_at > ${clock.now()}
          ORDER BY created_at DESC`,
      )
      return rows.map(toSignIn)
    },
  }
}

export const newSid = (): string => randomUUID()

const toSignIn = (row: Row): SignIn => ({
  sid: row.sid as string,
  clientId: row.client_id as string,
  accountId: row.account_id as string,
  personId: row.person_id as string,
  email: row.email as string,
  nodeId: row.node_id as string,
  origin: row.origin as string,
  scope: row.scope as string,
  audience: JSON.parse(row.audience as string),
  jkt: row.jkt as string,
  authTime: row.auth_time as number,
  epoch: (row.epoch as number | null) ?? undefined,
  createdAt: row.created_at as number,
  expiresAt: row.expires_at as number,
  lastUsedAt: row.last_used_at as number,
  described: row.described as string,
})
