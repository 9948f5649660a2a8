import { randomUUID } from 'node:crypto'
import { RpcError } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, sql } from '@selvedge/service-kit/store'
import { RecentMap } from '@selvedge/service-kit/tokens'

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
}

export interface Projects {
  create(project: Pick<Project, 'name' | 'accountId' | 'scopes' | 'resources'>): Promise<Project>
  find(clientId: string): Promise<Project | undefined>
  list(): Promise<Project[]>
  /** @throws RpcError `not_found` */
  disable(clientId: string): Promise<void>
}

export function createProjects(store: SqlStore, clock: Clock): Projects {
  const recent = new RecentMap<string, Project>(10_000)
  return {
    async create({ name, accountId, scopes, resources }) {
      const rows = await store.run(
        sql`INSERT INTO projects VALUES (${randomUUID()}, ${name}, ${accountId}, ${scopes.join(' ')},
          ${JSON.stringify(resources)}, 1, ${clock.now()}) RETURNING *`,
      )
      return toProject(rows[0]!)
    },
    async find(clientId) {
      const known = recent.get(clientId)
      if (known) return known
      const rows = await store.run(sql`SELECT * FROM projects WHERE client_id = ${clientId}`)
      if (!rows[0]) return undefined
      const project = toProject(rows[0])
      recent.set(clientId, project)
      return project
    },
    list: async () => (await store.run(sql`SELECT * FROM projects ORDER BY created_at`)).map(toProject),
    async disable(clientId) {
      const rows = await store.run(
        sql`UPDATE projects SET active = 0 WHERE client_id = ${clientId} RETURNING client_id`,
      )
      recent.delete(clientId)
      if (!rows[0]) throw new RpcError('not_found', `there is no project with the client ID ${clientId}`)
    },
  }
}

const toProject = (row: Row): Project => ({
  clientId: row.client_id as string,
  name: row.name as string,
  accountId: row.account_id as string,
  scopes: (row.scopes as string).split(' ').filter(Boolean),
  resources: JSON.parse(row.resources as string),
  active: row.active === 1,
  createdAt: isoTime(row.created_at as number),
})
