/** What the account shares, and its groups: for pages of the console, and for the command line of an owner. */
import { cliClientId, RpcError } from '@selvedge/protocol'
import type { SharesMethods } from '@selvedge/protocol/console'
import type { HandlersOf } from '@selvedge/protocol/jsonrpc'
import type { Node, Nodes } from '../../../registry/nodes/nodes.ts'
import type { Groups } from '../../../registry/shares/groups.ts'
import type { Shares } from '../../../registry/shares/shares.ts'
import type { Audit } from '../../../storage/audit/audit.ts'
import { type Actor, auditOf, done } from '../context.ts'

export interface ShareParts {
  readonly nodes: Nodes
  readonly shares: Shares
  readonly groups: Groups
  readonly audit: Audit
}

/** The person who acts, and the address of the request. */
interface ShareContext {
  readonly address: string
}

interface ShareCallers {
  readonly person: Actor
}

export function shareHandlers(parts: ShareParts): HandlersOf<SharesMethods, ShareCallers, ShareContext> {
  const { nodes, shares, groups, audit } = parts
  const accountOf = ({ membership }: Actor) => membership.accountId
  const note = (actor: Actor, context: ShareContext, action: string, subject: string, detail: string) =>
    audit.record(auditOf(actor, context, action, subject, { detail }))

  async function ownDevice(nodeId: string, actor: Actor): Promise<Node> {
    const node = await nodes.find(nodeId)
    if (node?.accountId === accountOf(actor)) return node
    throw new RpcError('not_found', `the account has no device ${nodeId}`)
  }

  /** The project and the name of a service that a device of the account has stated. A name is first looked for in the projects. */
  async function serviceOf(nodeId: string, idOrName: string, actor: Actor) {
    const node = await ownDevice(nodeId, actor)
    const named = node.services.filter(({ id, name }) => id === idOrName || name === idOrName)
    const ofProjects = named.filter(({ id }) => !id.startsWith(`${cliClientId}-`))
    const found = ofProjects.length > 0 ? ofProjects : named
    const [service] = found
    if (found.length > 1)
      throw new RpcError('conflict', `several projects have a service ${JSON.stringify(idOrName)} there`, {
        hint: `Give the ID: ${found.map(({ id }) => id).join(' or ')}`,
      })
    if (!service?.id.endsWith(`-${service.name}`))
      throw new RpcError('not_found', `the device has stated no service ${JSON.stringify(idOrName)}`, {
        hint: 'Check the name. A service that was just deployed is known after some seconds, when the device has stated it.',
      })
    const clientId = service.id.slice(0, -service.name.length - 1)
    if (clientId !== cliClientId) return { service: service.name, clientId }
    throw new RpcError(
      'conflict',
      'the service is of no project, and people sign in to the app of a project',
      {
        hint: 'Deploy it with the client ID of the project: selvedge login --client-id <id>',
      },
    )
  }

  return {
    async 'share.list'({ nodeId }, actor) {
      if (nodeId !== null) await ownDevice(nodeId, actor)
      return shares.list(accountOf(actor), nodeId ?? undefined)
    },
    async 'share.add'({ nodeId, service, until, ...asked }, actor, context) {
      const share = await shares.add({
        ...(await serviceOf(nodeId, service, actor)),
        ...{ nodeId, with: asked.with, until: Date.parse(until) },
        ...{ accountId: accountOf(actor), madeBy: actor.person.personId },
      })
      await note(
        actor,
        context,
        'share.add',
        nodeId,
        `${share.service} with ${share.with} until ${share.until}`,
      )
      return share
    },
    async 'share.remove'({ shareId }, actor, context) {
      await shares.remove(accountOf(actor), shareId)
      await note(actor, context, 'share.remove', shareId, '')
      return done
    },
    'group.list': (_, actor) => groups.list(accountOf(actor)),
    async 'group.create'({ name }, actor, context) {
      const group = await groups.create(accountOf(actor), name)
      await note(actor, context, 'group.create', group.groupId, name)
      return group
    },
    async 'group.delete'({ groupId }, actor, context) {
      await note(actor, context, 'group.delete', groupId, await groups.remove(accountOf(actor), groupId))
      return done
    },
    async 'group.add_person'({ groupId, person }, actor, context) {
      const name = await groups.add(accountOf(actor), groupId, person)
      await note(actor, context, 'group.add_person', groupId, `${person} to ${name}`)
      return done
    },
    async 'group.remove_person'({ groupId, personId }, actor, context) {
      const name = await groups.removePerson(accountOf(actor), groupId, personId)
      await note(actor, context, 'group.remove_person', groupId, `${personId} from ${name}`)
      return done
    },
  }
}
