/** How people sign in to the app of a project: what is stored, and the index of the origins of all projects. */
import { type AppAudience, type AppType, RpcError } from '@selvedge/protocol'
import type { AppIdAlgorithm } from '@selvedge/protocol/tokens'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Changes } from '../../storage/changes/changes.ts'
import { originProblem, redirectUriProblem } from './app-addresses.ts'
import { ifProjectExists, isStated, type Stated, updateStated } from './stated.ts'

/** The part of a project that is about its app. A project without redirect URIs has no app that people sign in to. */
export interface ProjectApp {
  readonly appType: AppType
  /** Who may sign in. */
  readonly appUsers: AppAudience
  readonly redirectUris: readonly string[]
  readonly postLogoutRedirectUris: readonly string[]
  /** Origins of pages that may call the endpoints of tokens. */
  readonly origins: readonly string[]
  /** The algorithm of its ID tokens (OpenID Connect Dynamic Client Registration 1.0 § 2). */
  readonly idTokenSignedResponseAlg: AppIdAlgorithm
}

export const noApp: ProjectApp = {
  appType: 'web',
  appUsers: 'account',
  redirectUris: [],
  postLogoutRedirectUris: [],
  origins: [],
  idTokenSignedResponseAlg: 'ES256',
}

/** @throws RpcError `invalid_params`, naming the first address that is refused and why */
export function checkApp({ appType, redirectUris, postLogoutRedirectUris, origins }: ProjectApp): void {
  const refuse = (what: string, value: string, problem: string | undefined) => {
    if (problem === undefined) return
    throw new RpcError('invalid_params', `${what} ${JSON.stringify(value)} cannot be used: ${problem}`)
  }
  for (const uri of redirectUris) refuse('the redirect URI', uri, redirectUriProblem(uri, appType))
  for (const uri of postLogoutRedirectUris)
    refuse('the URI after a logout', uri, redirectUriProblem(uri, appType))
  for (const origin of origins) refuse('the origin', origin, originProblem(origin))
}

/** Writes what is stated of the app of a project that exists, in the transaction that writes the project. */
export function appStatements(clientId: string, app: Stated<ProjectApp>): Statement[] {
  const { appType, appUsers, idTokenSignedResponseAlg: algorithm } = app
  const [redirectUris, postLogoutRedirectUris, origins] = [
    app.redirectUris,
    app.postLogoutRedirectUris,
    app.origins,
  ].map((each) => each && [...new Set(each)])
  const columns = {
    app_type: appType,
    app_users: appUsers,
    redirect_uris: redirectUris && JSON.stringify(redirectUris),
    post_logout_redirect_uris: postLogoutRedirectUris && JSON.stringify(postLogoutRedirectUris),
    origins: origins && JSON.stringify(origins),
  }
  return [
    ...(isStated(columns) ? [insertNoApp(clientId), updateStated('project_apps', clientId, columns)] : []),
    ...(origins ? [sql`DELETE FROM project_origins WHERE client_id = ${clientId}`] : []),
    ...(origins ?? []).map((origin) =>
      ifProjectExists(
        clientId,
        sql`INSERT INTO project_origins SELECT CAST(${origin} AS TEXT), CAST(${clientId} AS TEXT)`,
      ),
    ),
    ...(algorithm ? writeAlgorithm(clientId, algorithm) : []),
  ]
}

const insertNoApp = (clientId: string): Statement => {
  const { appType, appUsers } = noApp
  const insert = ifProjectExists(
    clientId,
    sql`INSERT INTO project_apps SELECT CAST(${clientId} AS TEXT), CAST(${appType} AS TEXT), CAST(${appUsers} AS TEXT),
      '[]', '[]', '[]'`,
  )
  return { ...insert, sql: `${insert.sql} ON CONFLICT (client_id) DO NOTHING` }
}

const writeAlgorithm = (clientId: string, algorithm: AppIdAlgorithm): Statement[] => [
  sql`DELETE FROM project_id_tokens WHERE client_id = ${clientId}`,
  ...(algorithm === noApp.idTokenSignedResponseAlg
    ? []
    : [
        ifProjectExists(
          clientId,
          sql`INSERT INTO project_id_tokens SELECT CAST(${clientId} AS TEXT), CAST(${algorithm} AS TEXT)`,
        ),
      ]),
]

/** @param row of `projects` joined with `project_apps` and `project_id_tokens`, with columns that are null without an app */
export function toApp(row: Row): ProjectApp {
  const algorithm = row.id_token_signed_response_alg as AppIdAlgorithm | null
  const stated = algorithm ? { idTokenSignedResponseAlg: algorithm } : {}
  if (row.app_type === null || row.app_type === undefined) return { ...noApp, ...stated }
  return {
    ...noApp,
    ...stated,
    appType: row.app_type as AppType,
    appUsers: row.app_users as AppAudience,
    redirectUris: JSON.parse(row.redirect_uris as string),
    postLogoutRedirectUris: JSON.parse(row.post_logout_redirect_uris as string),
    origins: JSON.parse(row.origins as string),
  }
}

/** Whether an origin is one of any active project, from memory. */
export type IsKnownOrigin = (origin: string) => Promise<boolean>

/** Origins in memory: those of apps that are used, and those that strangers send. */
const maxOrigins = 10_000

/**
 * It decides about preflight requests and public documents. A request for tokens uses the list of its own project, so it does
 * no harm if an origin is known here a moment longer.
 */
export function createKnownOrigins(store: SqlStore, changes: Pick<Changes, 'cache'>): IsKnownOrigin {
  const cache = changes.cache<'known' | 'unknown'>({
    topic: 'origin',
    limit: maxOrigins,
    async read(origin) {
      const rows = await store.run(
        sql`SELECT 1 AS found FROM project_origins JOIN projects ON projects.client_id = project_origins.client_id
          WHERE project_origins.origin = ${origin} AND projects.active = 1 LIMIT 1`,
      )
      return rows.length > 0 ? 'known' : 'unknown'
    },
  })
  return async (origin) => (await cache.find(origin)) === 'known'
}
