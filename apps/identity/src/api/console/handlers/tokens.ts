import { RpcError } from '@selvedge/protocol'
import type { People } from '../../../registry/people/people.ts'
import type { DeveloperTokens } from '../../../registry/projects/developer-tokens.ts'
import type { Projects } from '../../../registry/projects/projects.ts'
import type { Audit } from '../../../storage/audit/audit.ts'
import { auditOf, type ConsoleHandlers, done, subjectOf, type Viewer } from '../context.ts'
import { nameOfProject, ownProject } from './projects.ts'

export interface TokenParts {
  readonly projects: Projects
  readonly people: People
  readonly developerTokens: DeveloperTokens
  readonly audit: Audit
  /** Default lifetime of a developer ID token, in seconds. */
  readonly developerLifetimeSeconds: number
}

export function tokenHandlers(parts: TokenParts) {
  const { projects, people, developerTokens, audit } = parts
  const accountOf = ({ membership }: Viewer) => membership.accountId

  return {
    'token.list': async (_, viewer) => {
      const accountId = accountOf(viewer)
      const names = new Map((await projects.list(accountId)).map(({ clientId, name }) => [clientId, name]))
      const emails = new Map(
        (await people.members(accountId)).map(({ personId, email }) => [personId, email]),
      )
      return (await developerTokens.list(accountId)).map(({ accountId: _account, personId, ...token }) => ({
        ...token,
        projectName: names.get(token.clientId) ?? token.clientId,
        madeBy: emails.get(personId) ?? 'a former member',
      }))
    },
    'token.create': async ({ clientId }, viewer, context) => {
      const project = await ownProject(projects, clientId, viewer)
      if (!project.active) throw new RpcError('conflict', `the project ${project.name} is disabled`)
      const made = await developerTokens.issue(
        subjectOf(viewer),
        clientId,
        project.developerLifetime || parts.developerLifetimeSeconds,
      )
      await audit.record(
        auditOf(viewer, context, 'developer_token.create', made.jti, { detail: project.name }),
      )
      return made
    },
    'token.revoke': async ({ jti }, viewer, context) => {
      const token = await developerTokens.find(jti)
      if (token?.accountId !== accountOf(viewer))
        throw new RpcError('not_found', 'the account has no such token')
      const { isNews } = await developerTokens.revoke(jti)
      const detail = await nameOfProject(projects, token.clientId)
      if (isNews) await audit.record(auditOf(viewer, context, 'developer_token.revoke', jti, { detail }))
      return done
    },
  } satisfies ConsoleHandlers
}
