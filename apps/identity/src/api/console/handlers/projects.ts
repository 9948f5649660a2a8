import { RpcError } from '@selvedge/protocol'
import type { Nodes } from '../../../registry/nodes/nodes.ts'
import type { DeveloperTokens } from '../../../registry/projects/developer-tokens.ts'
import type { Project, Projects } from '../../../registry/projects/projects.ts'
import type { SignIns } from '../../../registry/sign-ins/sign-ins.ts'
import type { Audit } from '../../../storage/audit/audit.ts'
import { auditOf, type ConsoleHandlers, done, type Viewer } from '../context.ts'
import { describeChanges } from './project-changes.ts'

export interface ProjectParts {
  readonly projects: Projects
  readonly developerTokens: DeveloperTokens
  readonly signIns: SignIns
  readonly nodes: Nodes
  readonly audit: Audit
  /** Default lifetimes, in seconds; a project may set others. */
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

/** The name of a project for people; its client ID if it does not exist any more. */
export const nameOfProject = async (projects: Projects, clientId: string): Promise<string> =>
  (await projects.find(clientId))?.name ?? clientId

export function projectHandlers({
  projects,
  developerTokens,
  signIns,
  nodes,
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
    'project.create': async ({ offline, ...settings }, viewer, context) => {
      const leases = offline && { offline }
      const project = await projects.create({ ...settings, ...leases, accountId: accountOf(viewer) })
      await audit.record(
        auditOf(viewer, context, 'project.create', project.clientId, { detail: project.name }),
      )
      return describe(project)
    },
    'project.update': async ({ clientId, offline, ...settings }, viewer, context) => {
      const before = describe(await ownProject(projects, clientId, viewer))
      const leases = offline && { offline }
      const project = await projects.update(clientId, { ...settings, ...leases })
      const detail = describeChanges(before, describe(project))
      await audit.record(auditOf(viewer, context, 'project.update', clientId, { detail }))
      return describe(project)
    },
    'project.dependents': async ({ clientId }, viewer) =>
      dependentsOf(await ownProject(projects, clientId, viewer)),
    'project.delete': async ({ clientId }, viewer, context) => {
      const { name } = await ownProject(projects, clientId, viewer)
      await projects.remove(clientId)
      await audit.record(auditOf(viewer, context, 'project.delete', clientId, { detail: name }))
      return done
    },
  } satisfies ConsoleHandlers
}
