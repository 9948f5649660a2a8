/** Sign-ins as rows of their table. */
import { type Row, type Statement, sql } from '@selvedge/service-kit/store'

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
  /** Whether it is of an app that the person signed in to: its ID tokens are for the app alone. */
  readonly isOfApp?: boolean
}

export type NewSignIn = Omit<SignIn, 'createdAt' | 'expiresAt' | 'lastUsedAt'>

/**
 * Writes a sign-in, if its person is a member of the account and nothing that it depends on was revoked.
 *
 * @param now Unix milliseconds
 * @param lifetimeSeconds until it expires
 * @returns a statement that returns one row if it wrote one
 */
export function insertSignIn(signIn: NewSignIn, now: number, lifetimeSeconds: number): Statement {
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
    isOfApp = false,
  } = signIn
  const storedScope = isOfApp ? withoutOpenid(scope) : scope
  return sql`INSERT INTO sign_ins SELECT CAST(${sid} AS TEXT), CAST(${clientId} AS TEXT), CAST(${accountId} AS TEXT),
            CAST(${personId} AS TEXT), CAST(${email} AS TEXT), CAST(${nodeId} AS TEXT), CAST(${origin} AS TEXT), CAST(${storedScope} AS TEXT),
            CAST(${JSON.stringify(audience)} AS TEXT), CAST(${jkt} AS TEXT), CAST(${authTime} AS BIGINT), CAST(${now} AS BIGINT),
            CAST(${now + lifetimeSeconds * 1000} AS BIGINT), NULL, 0, '', CAST(${now} AS BIGINT), CAST(${described} AS TEXT),
            CAST(${epoch ?? null} AS BIGINT)
          WHERE (${personId} = '' OR EXISTS (SELECT 1 FROM members WHERE account_id = ${accountId} AND person_id = ${personId}))
            AND NOT EXISTS (SELECT 1 FROM revocations WHERE kind = 'id' AND subject IN (${sid}, ${origin})
              OR epoch > ${epoch ?? 0} AND (kind = 'account' AND subject = ${accountId}
                OR kind = 'client' AND subject = ${clientId} OR kind = 'node' AND subject = ${nodeId}))
          ON CONFLICT (sid) DO NOTHING RETURNING sid`
}

const withoutOpenid = (scope: string): string =>
  scope
    .split(' ')
    .filter((each) => each !== 'openid')
    .join(' ')

/** The second statement of a sign-in of an app, in the same transaction. */
export const insertAppSignIn = ({ sid, scope }: NewSignIn): Statement =>
  sql`INSERT INTO app_sign_ins SELECT sid, CAST(${scope} AS TEXT) FROM sign_ins WHERE sid = ${sid} ON CONFLICT (sid) DO NOTHING`

/** @param condition with one `?` for each value */
export const signInsWhere = (condition: string, ...values: (string | number)[]): Statement => ({
  sql: `SELECT sign_ins.*, app_sign_ins.scope AS app_scope FROM sign_ins
    LEFT JOIN app_sign_ins ON app_sign_ins.sid = sign_ins.sid WHERE ${condition} ORDER BY created_at DESC`,
  values,
})

/** @param row of {@link signInsWhere} */
export const toSignIn = (row: Row): SignIn => ({
  sid: row.sid as string,
  clientId: row.client_id as string,
  accountId: row.account_id as string,
  personId: row.person_id as string,
  email: row.email as string,
  nodeId: row.node_id as string,
  origin: row.origin as string,
  scope: (row.app_scope ?? row.scope) as string,
  audience: JSON.parse(row.audience as string),
  jkt: row.jkt as string,
  authTime: row.auth_time as number,
  epoch: (row.epoch as number | null) ?? undefined,
  createdAt: row.created_at as number,
  expiresAt: row.expires_at as number,
  lastUsedAt: row.last_used_at as number,
  described: row.described as string,
  isOfApp: typeof row.app_scope === 'string',
})
