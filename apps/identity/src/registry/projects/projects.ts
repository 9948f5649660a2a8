import { randomUUID } from 'node:crypto'
import { cliClientId, RpcError } from '@selvedge/protocol'
import { scopeNames } from '@selvedge/protocol/tokens'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Changes } from '../../storage/changes/changes.ts'
import { writeInTurn } from '../../storage/write-in-turn.ts'
import type { Revocations } from '../revocation/revocations.ts'
import { allowsLess, endOffline, noLeases, type Offline, toOffline, writeOffline } from './offline.ts'

/** Whether tokens are bound to a key of the caller (RFC 9449): never, where the request has a proof, or always. */
export type DpopPolicy = 'off' | 'optional' | 'required'

/** A project of the console: an OAuth client without a secret. */
export interface Project {
  readonly clientId: string
  readonly name: string
  readonly accountId: string
  readonly scopes: readonly string[]
  /** Resources that its tokens may be asked for, beside the edge itself (RFC 8707). */
  readonly resources: readonly string[]
  readonly active: boolean
  readonly createdAt: string
  /** Seconds; 0: as the service is configured. */
  readonly accessLifetime: number
  readonly developerLifetime: number
  readonly dpop: DpopPolicy
  readonly offline: Offline
}

type Changeable = Pick<
  Project,
  'name' | 'scopes' | 'resources' | 'active' | 'accessLifetime' | 'developerLifetime' | 'dpop' | 'offline'
>

export interface Projects {
  /** @throws RpcError `limit_exceeded` */
  create(
    project: Pick<Project, 'name' | 'accountId' | 'scopes' | 'resources'> & Partial<Changeable>,
  ): Promise<Project>
  find(clientId: string): Promise<Project | undefined>
  list(accountId?: string): Promise<Project[]>
  /** @throws RpcError `not_found` */
  update(clientId: string, change: Partial<Changeable>): Promise<Project>
  /** Removes a project with its developer ID tokens and sign-ins, and revokes every token that it was issued. */
  remove(clientId: string): Promise<void>
}

/** The command line's own client. It belongs to no account: the person who signs in approves its scopes. */
const cliProject: Project = {
  clientId: cliClientId,
  name: 'Selvedge command line',
  accountId: '',
  scopes: scopeNames,
  resources: [],
  active: true,
  createdAt: isoTime(0),
  accessLifetime: 0,
  developerLifetime: 0,
  dpop: 'optional',
  offline: noLeases,
}

export interface ProjectsParts {
  readonly store: SqlStore
  readonly clock: Clock
  readonly changes: Pick<Changes, 'cache' | 'commit'>
  readonly revocations: Pick<Revocations, 'revokeAll'>
  /** Maximum projects of one account. */
  readonly maxProjects: number
}

export function createProjects(parts: ProjectsParts): Projects {
  const { store, clock, changes, revocations, maxProjects } = parts
  const cache = changes.cache<Project>({ topic: 'project', limit: 10_000, read })

  async function read(clientId: string): Promise<Project | undefined> {
    const rows = await store.run(select(sql`projects.client_id = ${clientId}`))
    return rows[0] && toProject(rows[0])
  }

  const find = async (clientId: string) => (clientId === cliClientId ? cliProject : cache.find(clientId))

  async function update(clientId: string, change: Partial<Changeable>): Promise<Project> {
    const before = clientId === cliClientId ? undefined : await find(clientId)
    if (!before) throw new RpcError('not_found', `there is no project with the client ID ${clientId}`)
    const now = { ...before, ...change }
    const statements = [
      updateRow(now),
      ...(change.offline ? [writeOffline(clientId, change.offline, clock.now())] : []),
      select(sql`projects.client_id = ${clientId}`),
    ]
    const noted = [['project', clientId] as const, ...(change.offline ? [['lease', clientId] as const] : [])]
    // What the project allows no more must not go on with the leases that are out there.
    const rows = allowsLess(leasesOf(before), leasesOf(now))
      ? await revocations.revokeAll('lease', clientId, { statements, noted })
      : await changes.commit(statements, noted)
    return toProject(rows[statements.length - 1]![0]!)
  }

  return {
    find,
    update,
    async create({
      name,
      accountId,
      scopes,
      resources,
      accessLifetime = 0,
      developerLifetime = 0,
      dpop = 'optional',
      offline = noLeases,
    }) {
      const clientId = randomUUID()
      const [rows] = await writeInTurn(store, `projects of ${accountId}`, [
        sql`INSERT INTO projects SELECT CAST(${clientId} AS TEXT), CAST(${name} AS TEXT), CAST(${accountId} AS TEXT),
            CAST(${scopes.join(' ')} AS TEXT), CAST(${JSON.stringify(resources)} AS TEXT), 1, CAST(${clock.now()} AS BIGINT),
            CAST(${accessLifetime} AS BIGINT), CAST(${developerLifetime} AS BIGINT), CAST(${dpop} AS TEXT)
          WHERE (SELECT COUNT(*) FROM projects WHERE account_id = ${accountId}) < ${maxProjects} RETURNING *`,
      ])
      if (rows![0] && offline.maxDays > 0) return update(clientId, { offline })
      if (rows![0]) return toProject(rows![0])
      throw new RpcError('limit_exceeded', `the account has ${maxProjects} projects already`, {
        hint: 'Delete projects that are not needed any more, or ask the operator to raise limits.projects.',
      })
    },
    async list(accountId) {
      const rows = await store.run(
        accountId === undefined
          ? select(sql`1 = 1 ORDER BY created_at`)
          : select(sql`account_id = ${accountId} ORDER BY created_at`),
      )
      return rows.map(toProject)
    },
    async remove(clientId) {
      const statements = removeRows(clientId, clock.now())
      await revocations.revokeAll('client', clientId, {
        statements,
        noted: [
          ['project', clientId],
          ['lease', clientId],
        ],
      })
    },
  }
}

/** @param now Unix milliseconds */
const removeRows = (clientId: string, now: number): Statement[] => [
  sql`DELETE FROM sign_ins WHERE client_id = ${clientId}`,
  sql`DELETE FROM developer_tokens WHERE client_id = ${clientId}`,
  sql`DELETE FROM projects WHERE client_id = ${clientId}`,
  endOffline(clientId, now),
]

function updateRow(project: Project): Statement {
  const { clientId, name, scopes, resources, active, accessLifetime, developerLifetime, dpop } = project
  return sql`UPDATE projects SET name = ${name}, scopes = ${scopes.join(' ')}, resources = ${JSON.stringify(resources)},
    active = ${active ? 1 : 0}, access_lifetime = ${accessLifetime}, developer_lifetime = ${developerLifetime},
    dpop = ${dpop} WHERE client_id = ${clientId}`
}

/** The rows of projects with their leases. @param where condition, and the order */
const select = (where: Statement): Statement => ({
  sql: `SELECT projects.*, project_offline.max_days, project_offline.scopes AS offline_scopes
    FROM projects LEFT JOIN project_offline ON project_offline.client_id = projects.client_id WHERE ${where.sql}`,
  values: where.values,
})

/** The leases that a project gives: not without keys to bind them to, and not while it is turned off. */
export const leasesOf = ({ active, dpop, offline }: Pick<Project, 'active' | 'dpop' | 'offline'>): Offline =>
  active && dpop !== 'off' ? offline : noLeases

const toProject = (row: Row): Project => ({
  clientId: row.client_id as string,
  name: row.name as string,
  accountId: row.account_id as string,
  scopes: (row.scopes as string).split(' ').filter(Boolean),
  resources: JSON.parse(row.resources as string),
  active: row.active === 1,
  createdAt: isoTime(row.created_at as number),
  accessLifetime: row.access_lifetime as number,
  developerLifetime: row.developer_lifetime as number,
  dpop: row.dpop as DpopPolicy,
  offline: toOffline(row),
})
