import { RpcError } from '@selvedge/protocol'
import { type AdminInput, type AdminMethodName, adminMethods } from '@selvedge/protocol/admin'
import type { Handler } from '@selvedge/protocol/jsonrpc'
import { scopeNames } from '@selvedge/protocol/tokens'
import type { CallContext } from '@selvedge/service-kit/http'
import type { SigningKeys } from '../keys/signing-keys.ts'
import type { Accounts } from '../registry/accounts.ts'
import type { DeveloperTokens } from '../registry/developer-tokens.ts'
import type { EnrolmentCodes } from '../registry/enrolment-codes.ts'
import { describeNode, type Nodes } from '../registry/nodes.ts'
import type { Projects } from '../registry/projects.ts'

export interface AdminParts {
  readonly accounts: Accounts
  readonly projects: Projects
  readonly developerTokens: DeveloperTokens
  readonly nodes: Nodes
  readonly codes: EnrolmentCodes
  readonly keys: SigningKeys
  /** Seconds for which a developer ID token lives unless told otherwise. */
  readonly developerLifetime: number
}

export const adminMethodList = Object.values(adminMethods)

/** One handler a method of the operator's API. Whoever may open the socket may call them. */
export function createAdminHandlers(parts: AdminParts): Record<AdminMethodName, Handler<CallContext>> {
  const { accounts, projects, developerTokens, nodes, codes, keys } = parts

  async function ownerOf(email: string | null): Promise<string> {
    if (email !== null) return (await accounts.byEmail(email)).accountId
    const all = await accounts.list()
    if (all.length === 1) return all[0]!.accountId
    const detail = `there are ${all.length} accounts; the owner of the project is not clear`
    throw new RpcError('conflict', detail, { hint: 'Name the owner with --email.' })
  }

  const handlers: { [Name in AdminMethodName]: (params: AdminInput<Name>) => unknown } = {
    'account.create': async ({ email }) => ({ accountId: (await accounts.create(email)).accountId }),
    'account.list': () => accounts.list(),
    'project.create': async ({ name, email, scopes, resources }) => {
      const accountId = await ownerOf(email)
      const project = { name, accountId, scopes: scopes ?? scopeNames, resources: resources ?? [] }
      return { clientId: (await projects.create(project)).clientId }
    },
    'project.list': () => projects.list(),
    'project.disable': async ({ clientId }) => {
      await projects.disable(clientId)
      return { clientId }
    },
    'token.developer.create': async ({ email, clientId, days }) => {
      const account = await accounts.byEmail(email)
      const project = await projects.find(clientId)
      if (!project) throw new RpcError('not_found', `there is no project with the client ID ${clientId}`)
      if (!project.active) throw new RpcError('conflict', `the project ${project.name} is turned off`)
      return developerTokens.issue(account, clientId, days === null ? parts.developerLifetime : days * 86_400)
    },
    'token.developer.list': () => developerTokens.list(),
    'token.developer.revoke': ({ jti }) => developerTokens.revoke(jti),
    'node.list': async () => (await nodes.list()).map(describeNode),
    'node.block': async ({ nodeId }) => describeNode(await nodes.setBlocked(nodeId, true)),
    'node.unblock': async ({ nodeId }) => describeNode(await nodes.setBlocked(nodeId, false)),
    'enrolment.create': () => codes.create(),
    'keys.list': () => keys.list(),
    'keys.rotate': async () => {
      await keys.rotate()
      return keys.list()
    },
  }
  return handlers as unknown as Record<AdminMethodName, Handler<CallContext>>
}
