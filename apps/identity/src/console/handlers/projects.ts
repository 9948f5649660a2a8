import { RpcError } from '@selvedge/protocol'
import type { ConsoleInput } from '@selvedge/protocol/console'
import { sql } from '@selvedge/service-kit/store'
import type { Audit } from '../../audit/audit.ts'
import type { SignIns } from '../../grants/sign-ins.ts'
import type { DeveloperTokens } from '../../registry/developer-tokens.ts'
import type { Nodes } from '../../registry/nodes.ts'
import type { Project, Projects } from '../../registry/projects.ts'
import type { Revocations } from '../../revocation/revocations.ts'
import { auditOf, type ConsoleContext, done, viewerOf } from '../context.ts'

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

/** The project of a client ID, where it is of the account that is looked at. @throws RpcError `not_found` */
export async function ownProject(
  projects: Projects,
  clientId: string,
  context: ConsoleContext,
): Promise<Project> {
  const project = await projects.find(clientId)
  if (project && project.accountId === viewerOf(context).membership.accountId) return project
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
  const accountOf = (context: ConsoleContext) => viewerOf(context).membership.accountId
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
    'project.list': async (_: unknown, context: ConsoleContext) =>
      (await projects.list(accountOf(context))).map(describe),
    'project.create': async (settings: ConsoleInput<'project.create'>, context: ConsoleContext) => {
      const project = await projects.create({ ...settings, accountId: accountOf(context) })
      await audit.record(auditOf(context, 'project.create', project.clientId, { detail: project.name }))
      return describe(project)
    },
    'project.update': async (
      { clientId, ...settings }: ConsoleInput<'project.update'>,
      context: ConsoleContext,
    ) => {
      await ownProject(projects, clientId, context)
      const project = await projects.update(clientId, settings)
      await audit.record(auditOf(context, 'project.update', clientId, { detail: project.name }))
      return describe(project)
    },
    'project.dependents': async ({ clientId }: ConsoleInput<'project.dependents'>, context: ConsoleContext) =>
      dependentsOf(await ownProject(projects, clientId, context)),
    'project.delete': async ({ clientId }: ConsoleInput<'project.delete'>, context: ConsoleContext) => {
      const { name } = await ownProject(projects, clientId, context)
      const statements = ['sign_ins', 'developer_tokens', 'projects'].map((table) =>
        deleteOf(table, clientId),
      )
      await revocations.revokeAll('client', clientId, { statements, noted: [['project', clientId]] })
      await audit.record(auditOf(context, 'project.delete', clientId, { detail: name }))
      return done
    },
  }
}

function deleteOf(table: string, clientId: string) {
  const statement = sql`WHERE client_id = ${clientId}`
  return { ...statement, sql: `DELETE FROM ${table} ${statement.sql}` }
}
