import { RpcError } from '@selvedge/protocol'
import { sql } from '@selvedge/service-kit/store'
import type { Audit } from '../../audit/audit.ts'
import type { SignIns } from '../../grants/sign-ins.ts'
import type { DeveloperTokens } from '../../registry/developer-tokens.ts'
import type { Nodes } from '../../registry/nodes.ts'
import type { Project, Projects } from '../../registry/projects.ts'
import type { Revocations } from '../../revocation/revocations.ts'
import { auditOf, type ConsoleHandlers, done, type Viewer } from '../context.ts'

export interface ProjectParts {
  readonly projects: Projects
  readonly developerTokens: DeveloperTokens
  readonly signIns: SignIns
  readonly nodes: Nodes
  readonly revocations: Revocations
  readonly audit: Audit
  /** Seconds, where a project says nothing else. */
  readonly lifetimes: { readonly access: number; readonly developer: number }
}

/** The project of a client ID, if it belongs to the account that is shown. @throws RpcError `not_found` */
export async function ownProject(
  projects: Projects,
  clientId: string,
  { membership }: Viewer,
): Promise<Project> {
  const project = await projects.find(clientId)
  if (project && project.accountId === membership.accountId) return project
  throw new RpcError('not_found', `the account has no project with the client ID ${clientId}`)
}

export function projectHandlers({
  projects,
  developerTokens,
  signIns,
  nodes,
  revocations,
  audit,
  lifetimes,
}: ProjectParts) {
  const accountOf = ({ membership }: Viewer) => membership.accountId
  const describe = ({ accountId: _, ...project }: Project) => ({
    ...project,
    accessLifetime: project.accessLifetime || lifetimes.access,
    developerLifetime: project.developerLifetime || lifetimes.developer,
  })

  /** What would go with a project. */
  async function dependentsOf({ clientId, accountId }: Project) {
    const isOwn = (each: { clientId: string }) => each.clientId === clientId
    const tokens = (await developerTokens.list(accountId)).filter(
      (each) => isOwn(each) && each.revokedAt === null,
    )
    return {
      developerTokens: tokens.length,
      signIns: (await signIns.list(accountId)).filter(isOwn).length,
      services: (await nodes.list(accountId)).flatMap(({ nodeId, name, services }) =>
        services
          .filter(({ id }) => id.startsWith(`${clientId}-`))
          .map(({ id }) => ({ nodeId, nodeName: name, id })),
      ),
    }
  }

  return {
    'project.list': async (_, viewer) => (await projects.list(accountOf(viewer))).map(describe),
    'project.create': async (settings, viewer, context) => {
      const project = await projects.create({ ...settings, accountId: accountOf(viewer) })
      await audit.record(
        auditOf(viewer, context, 'project.create', project.clientId, { detail: project.name }),
      )
      return describe(project)
    },
    'project.update': async ({ clientId, ...settings }, viewer, context) => {
      await ownProject(projects, clientId, viewer)
      const project = await projects.update(clientId, settings)
      await audit.record(auditOf(viewer, context, 'project.update', clientId, { detail: project.name }))
      return describe(project)
    },
    'project.dependents': async ({ clientId }, viewer) =>
      dependentsOf(await ownProject(projects, clientId, viewer)),
    'project.delete': async ({ clientId }, viewer, context) => {
      const { name } = await ownProject(projects, clientId, viewer)
      const statements = ['sign_ins', 'developer_tokens', 'projects'].map((table) =>
        deleteOf(table, clientId),
      )
      await revocations.revokeAll('client', clientId, { statements, noted: [['project', clientId]] })
      await audit.record(auditOf(viewer, context, 'project.delete', clientId, { detail: name }))
      return done
    },
  } satisfies ConsoleHandlers
}

function deleteOf(table: string, clientId: string) {
  const statement = sql`WHERE client_id = ${clientId}`
  return { ...statement, sql: `DELETE FROM ${table} ${statement.sql}` }
}
