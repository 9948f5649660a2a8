import { randomUUID } from 'node:crypto'
import { cliClientId, RpcError } from '@selvedge/protocol'
import { scopeNames } from '@selvedge/protocol/tokens'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Changes, Topic } from '../../storage/changes/changes.ts'
import { endSharesOfProject } from '../../storage/end-shares.ts'
import { writeInTurn } from '../../storage/write-in-turn.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import type { Revocations } from '../revocation/revocations.ts'
import {
  allowsLess,
  endOffline,
  hasLeases,
  noLeases,
  type Offline,
  toOffline,
  writeOffline,
} from './offline.ts'
import { appStatements, checkApp, noApp, type ProjectApp, toApp } from './project-apps.ts'
import { type Stated, updateStated, withStated } from './stated.ts'

/** Whether tokens are bound to a key of the caller (RFC 9449): never, where the request has a proof, or always. */
export type DpopPolicy = 'off' | 'optional' | 'required'

/** A project of the console: an OAuth client without a secret. */
export interface Project extends ProjectApp {
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
  | 'name'
  | 'scopes'
  | 'resources'
  | 'active'
  | 'accessLifetime'
  | 'developerLifetime'
  | 'dpop'
  | 'offline'
  | keyof ProjectApp
>

type Change = Stated<Changeable>

type NewProject = Pick<Project, 'name' | 'accountId' | 'scopes' | 'resources'> & Change

export interface Projects {
  /** @throws RpcError `limit_exceeded`, or `invalid_params` for an address that an app may not have */
  create(project: NewProject): Promise<Project>
  find(clientId: string): Promise<Project | undefined>
  list(accountId?: string): Promise<Project[]>
  /** @throws RpcError `not_found`, or `invalid_params` for an address that an app may not have */
  update(clientId: string, change: Change): Promise<Project>
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
  ...noApp,
}

export interface ProjectsParts {
  readonly store: SqlStore
  readonly clock: Clock
  readonly changes: Pick<Changes, 'cache' | 'commit'>
  readonly revocations: Pick<Revocations, 'revokeAll' | 'revokeTree'>
  readonly keys: Pick<SigningKeys, 'prepare'>
  /** Maximum projects of one account. */
  readonly maxProjects: number
}

const noProject = (clientId: string) =>
  new RpcError('not_found', `there is no project with the client ID ${clientId}`)

/** What is shared of the services of a project ends before the project is off, and does not return with it. */
async function endShares({ clock, revocations }: ProjectsParts, clientId: string): Promise<void> {
  const { statements, roots } = endSharesOfProject(clientId, clock.now())
  await revocations.revokeTree(roots, { statements, noted: [] })
}

export function createProjects(parts: ProjectsParts): Projects {
  const { store, clock, changes, revocations, keys, maxProjects } = parts
  const cache = changes.cache<Project>({ topic: 'project', limit: 10_000, read })

  async function read(clientId: string): Promise<Project | undefined> {
    const rows = await store.run(select(sql`projects.client_id = ${clientId}`))
    return rows[0] && toProject(rows[0])
  }

  const find = async (clientId: string) => (clientId === cliClientId ? cliProject : cache.find(clientId))

  async function update(clientId: string, change: Change): Promise<Project> {
    const before = clientId === cliClientId ? undefined : await read(clientId)
    if (!before) throw noProject(clientId)
    const now = withStated(before, change)
    checkApp(now)
    await keys.prepare(now.idTokenSignedResponseAlg)
    if (before.active && !now.active) await endShares(parts, clientId)
    const statements = [
      updateRow(clientId, change),
      ...appStatements(clientId, change),
      ...(change.offline ? [writeOffline(clientId, change.offline, clock.now())] : []),
      select(sql`projects.client_id = ${clientId}`),
    ]
    const noted = [
      ...notesOf(clientId, [...before.origins, ...now.origins]),
      ...(change.offline ? [['lease', clientId] as const] : []),
    ]
    // What the project allows no more must not go on with the leases that are out there.
    const rows = endsLeases(before, now)
      ? await revocations.revokeAll('lease', clientId, { statements, noted })
      : await changes.commit(statements, noted)
    const [row] = rows[statements.length - 1]!
    if (!row) throw noProject(clientId)
    return toProject(row)
  }

  return {
    find,
    update,
    async create(project) {
      const { accountId, offline = noLeases } = project
      const clientId = randomUUID()
      const app = withStated(noApp, appOf(project))
      checkApp(app)
      await keys.prepare(app.idTokenSignedResponseAlg)
      const [rows] = await writeInTurn(store, `projects of ${accountId}`, [
        insertProject(clientId, project, clock.now(), maxProjects),
        ...appStatements(clientId, appOf(project)),
      ])
      if (rows![0]) {
        // A page may have sent a request before its project had the origin.
        if (app.origins.length > 0) await changes.commit([], notesOf(clientId, app.origins))
        if (offline.maxDays > 0) return update(clientId, { offline })
        return { ...toProject(rows![0]), ...app }
      }
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
      const origins = (await find(clientId))?.origins ?? []
      const statements = removeRows(clientId, clock.now())
      const noted = [...notesOf(clientId, origins), ['lease', clientId] as const]
      await revocations.revokeAll('client', clientId, { statements, noted })
    },
  }
}

/** @param now Unix milliseconds */
const removeRows = (clientId: string, now: number): Statement[] => [
  sql`DELETE FROM pushed_requests WHERE client_id = ${clientId}`,
  sql`DELETE FROM authorization_codes WHERE client_id = ${clientId}`,
  sql`DELETE FROM app_consents WHERE client_id = ${clientId}`,
  sql`DELETE FROM sign_ins WHERE client_id = ${clientId}`,
  sql`DELETE FROM developer_tokens WHERE client_id = ${clientId}`,
  sql`UPDATE join_keys SET revoked_at = ${now} WHERE client_id = ${clientId} AND revoked_at IS NULL`,
  sql`DELETE FROM projects WHERE client_id = ${clientId}`,
  endOffline(clientId, now),
]

const updateRow = (clientId: string, change: Change): Statement =>
  updateStated('projects', clientId, {
    name: change.name,
    scopes: change.scopes?.join(' '),
    resources: change.resources && JSON.stringify(change.resources),
    active: change.active === undefined ? undefined : Number(change.active),
    access_lifetime: change.accessLifetime,
    developer_lifetime: change.developerLifetime,
    dpop: change.dpop,
  })

/** The rows of projects with their apps and leases. @param where condition, and the order */
const select = (where: Statement): Statement => ({
  sql: `SELECT projects.*, app_type, app_users, redirect_uris, post_logout_redirect_uris, origins,
      id_token_signed_response_alg, project_offline.max_days, project_offline.scopes AS offline_scopes
    FROM projects LEFT JOIN project_apps ON project_apps.client_id = projects.client_id
    LEFT JOIN project_id_tokens ON project_id_tokens.client_id = projects.client_id
    LEFT JOIN project_offline ON project_offline.client_id = projects.client_id WHERE ${where.sql}`,
  values: where.values,
})

/** The leases that a project gives: not without keys to bind them to, and not while it is turned off. */
export const leasesOf = ({ active, dpop, offline }: Pick<Project, 'active' | 'dpop' | 'offline'>): Offline =>
  active && dpop !== 'off' ? offline : noLeases

/** @returns a statement that returns one row if the account has fewer projects than the maximum */
function insertProject(
  clientId: string,
  {
    name,
    accountId,
    scopes,
    resources,
    accessLifetime = 0,
    developerLifetime = 0,
    dpop = 'optional',
  }: NewProject,
  now: number,
  maxProjects: number,
): Statement {
  return sql`INSERT INTO projects SELECT CAST(${clientId} AS TEXT), CAST(${name} AS TEXT), CAST(${accountId} AS TEXT),
      CAST(${scopes.join(' ')} AS TEXT), CAST(${JSON.stringify(resources)} AS TEXT), 1, CAST(${now} AS BIGINT),
      CAST(${accessLifetime} AS BIGINT), CAST(${developerLifetime} AS BIGINT), CAST(${dpop} AS TEXT)
    WHERE (SELECT COUNT(*) FROM projects WHERE account_id = ${accountId}) < ${maxProjects} RETURNING *`
}

/** What replicas have in memory of a project. */
const notesOf = (clientId: string, origins: readonly string[]): (readonly [Topic, string])[] => [
  ['project', clientId],
  ...[...new Set(origins)].map((origin) => ['origin', origin] as const),
]

const appOf = <App extends Stated<ProjectApp>>(
  project: App,
): { readonly [Name in keyof ProjectApp]: App[Name] } => ({
  appType: project.appType,
  appUsers: project.appUsers,
  redirectUris: project.redirectUris,
  postLogoutRedirectUris: project.postLogoutRedirectUris,
  origins: project.origins,
  idTokenSignedResponseAlg: project.idTokenSignedResponseAlg,
})

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
  ...toApp(row),
})

/** Whether leases are out there for what the project does not allow any more, or for people it is not for. */
const endsLeases = (before: Project, now: Project): boolean =>
  allowsLess(leasesOf(before), leasesOf(now)) ||
  (hasLeases(leasesOf(before)) && before.appUsers === 'anyone' && now.appUsers === 'account')
