/**
 * Sessions of people in browsers. A session needs two things: the secret of its cookie, of which only the hash is stored, and
 * the key that the browser signed in with, of which the thumbprint is stored.
 */
import { hash, randomBytes, randomUUID } from 'node:crypto'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Changes } from '../../storage/changes/changes.ts'
import type { Reach, ReachQuery } from '../people/people.ts'

export interface Session {
  readonly sessionId: string
  readonly personId: string
  readonly accountId: string
  /** Unix milliseconds of the sign-in; 0: unknown, since the provider of a company did not say. */
  readonly authTime: number
  /** The company of a sign-in with its provider; "" for a local sign-in, undefined if the company is unknown by now. */
  readonly companyId: string | undefined
}

/** A sign-in with the provider of a company. */
export interface CompanySignIn {
  readonly companyId: string
  /** The only account that such a session reaches. */
  readonly accountId: string
  /** Unix milliseconds at which the person proved at the provider who it is; 0: unknown. */
  readonly authTime: number
}

/** A session, and its person with the accounts that it reaches, read together; `reach` is undefined if the person is gone. */
interface ReachingSession {
  readonly session: Session
  readonly reach: Reach | undefined
}

interface FoundSession extends ReachingSession {
  readonly isProven: boolean
}

interface NewSession {
  readonly personId: string
  readonly accountId: string
  /** How the person proved who it is: passkey, password, recovery code, link, company. */
  readonly method: string
  /** Of a sign-in with the provider of a company. */
  readonly company?: CompanySignIn | undefined
  readonly address: string
  readonly userAgent: string
  /** Thumbprint of the key that signs the requests of this session. */
  readonly jkt: string
}

export interface Sessions {
  /** @returns the secret for the cookie; undefined if the person is not a member of the account */
  create(session: NewSession): Promise<string | undefined>
  /**
   * The session of a cookie.
   *
   * @param jkt thumbprint of the key that signed the request; undefined: no proof, or a bad one
   * @returns `isProven`: whether it is the key of the session. If not, the request is not of the session
   */
  find(secret: string, jkt: string | undefined): Promise<FoundSession | undefined>
  /** A session that was proven before; undefined if it has expired or was ended since. */
  stillThere(sessionId: string): Promise<ReachingSession | undefined>
  list(personId: string): Promise<
    (Session & {
      method: string
      createdAt: string
      lastSeenAt: string
      address: string
      userAgent: string
    })[]
  >
  /** @returns whether there was such a session of the person */
  end(personId: string, sessionId: string): Promise<boolean>
  /** @returns whether the person is a member of the account */
  switchTo(sessionId: string, accountId: string): Promise<boolean>
}

/** Milliseconds: longest life, life without being used, and by how much "last seen" may be behind. */
export const sessionTimes = { lifeMs: 7 * 86_400_000, idleMs: 86_400_000, stepMs: 60_000 }
/** Milliseconds of a session that came from a company: its rules are asked again at least that often. */
const companyLifeMs = 12 * 3_600_000

/** What the column `method` has for such a session. */
const companyMethod = 'company'

/** Seconds for which the browser keeps the cookie. */
export const cookieSeconds = sessionTimes.lifeMs / 1000

export function createSessions(
  store: SqlStore,
  clock: Clock,
  changes: Pick<Changes, 'commit'>,
  reach: ReachQuery,
): Sessions {
  const read = createRead(store, clock, reach)

  async function use(row: Row): Promise<Session> {
    const now = clock.now()
    if (now - (row.last_seen_at as number) > sessionTimes.stepMs)
      await store.run(sql`UPDATE sessions SET last_seen_at = ${now} WHERE session_id = ${row.session_id!}`)
    return toSession(row)
  }

  return {
    create: createBegin(store, clock),
    async find(secret, jkt) {
      const found = await read(sql`sessions.hash = ${hashOf(secret)}`)
      if (!found) return undefined
      const { row } = found
      // A client that has only the cookie does not extend the session either.
      if (row.jkt !== jkt) return { session: toSession(row), reach: found.reach, isProven: false }
      return { session: await use(row), reach: found.reach, isProven: true }
    },
    async stillThere(sessionId) {
      const found = await read(sql`sessions.session_id = ${sessionId}`)
      return found && { session: await use(found.row), reach: found.reach }
    },
    async list(personId) {
      const now = clock.now()
      const rows = await store.run(
        sql`SELECT sessions.*, company_id FROM sessions LEFT JOIN company_sessions USING (session_id)
          WHERE person_id = ${personId} AND expires_at > ${now} AND last_seen_at > ${now - sessionTimes.idleMs}
          ORDER BY last_seen_at DESC`,
      )
      return rows.map((row) => ({
        ...toSession(row),
        method: row.method as string,
        createdAt: isoTime(row.created_at as number),
        lastSeenAt: isoTime(row.last_seen_at as number),
        address: row.address as string,
        userAgent: row.user_agent as string,
      }))
    },
    async end(personId, sessionId) {
      const [rows] = await changes.commit(
        [
          sql`DELETE FROM sessions WHERE session_id = ${sessionId} AND person_id = ${personId} RETURNING session_id`,
        ],
        [['person', personId]],
      )
      return rows!.length === 1
    },
    async switchTo(sessionId, accountId) {
      const rows = await store.run(
        sql`UPDATE sessions SET account_id = ${accountId} WHERE session_id = ${sessionId} AND EXISTS
          (SELECT 1 FROM members WHERE members.person_id = sessions.person_id AND members.account_id = ${accountId})
          RETURNING session_id`,
      )
      return rows.length === 1
    },
  }
}

/** Reads a session that lives with its person: one message to the database, since each request of a page needs it. */
function createRead(store: SqlStore, clock: Clock, { statements, toReach }: ReachQuery) {
  return async (which: Statement): Promise<{ row: Row; reach: Reach | undefined } | undefined> => {
    const now = clock.now()
    const alive = sql`sessions.expires_at > ${now} AND sessions.last_seen_at > ${now - sessionTimes.idleMs}`
    const where = { sql: `${which.sql} AND ${alive.sql}`, values: [...which.values, ...alive.values] }
    const session = {
      sql: `SELECT sessions.*, company_id FROM sessions LEFT JOIN company_sessions USING (session_id) WHERE ${where.sql}`,
      values: where.values,
    }
    const [rows, people, members] = await store.transaction([session, ...statements(where, companyMethod)])
    const [row] = rows!
    return row && { row, reach: toReach(people!, members!) }
  }
}

/** Begins a session. */
function createBegin(store: SqlStore, clock: Clock): Sessions['create'] {
  return async ({ personId, accountId, method, company, address, userAgent, jkt }) => {
    const secret = randomBytes(32).toString('base64url')
    const sessionId = randomUUID()
    const now = clock.now()
    const authTime = company?.authTime ?? now
    const expiresAt = now + (company ? companyLifeMs : sessionTimes.lifeMs)
    const [rows] = await store.transaction([
      sql`INSERT INTO sessions SELECT CAST(${sessionId} AS TEXT), CAST(${hashOf(secret)} AS TEXT), person_id, account_id,
            CAST(${authTime} AS BIGINT), CAST(${company ? companyMethod : method} AS TEXT), CAST(${now} AS BIGINT),
            CAST(${now} AS BIGINT), CAST(${expiresAt} AS BIGINT), CAST(${address} AS TEXT),
            CAST(${userAgent.slice(0, 200)} AS TEXT), CAST(${jkt} AS TEXT)
          FROM members WHERE person_id = ${personId} AND account_id = ${accountId} RETURNING session_id`,
      ...(company ? [insertCompanySession(sessionId, company)] : []),
    ])
    return rows!.length === 1 ? secret : undefined
  }
}

const insertCompanySession = (sessionId: string, { companyId }: CompanySignIn): Statement =>
  sql`INSERT INTO company_sessions SELECT session_id, CAST(${companyId} AS TEXT) FROM sessions WHERE session_id = ${sessionId}`

const hashOf = (secret: string): string => hash('sha256', secret, 'base64url')

const toSession = (row: Row): Session => ({
  sessionId: row.session_id as string,
  personId: row.person_id as string,
  accountId: row.account_id as string,
  authTime: row.auth_time as number,
  companyId: row.method === companyMethod ? ((row.company_id as string | null) ?? undefined) : '',
})
