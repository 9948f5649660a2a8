/** Join keys of the account, and the devices that wait: for pages of the console, and for the command line of an owner. */
import { RpcError } from '@selvedge/protocol'
import type { BulkResult, JoinKeysMethods } from '@selvedge/protocol/console'
import type { HandlersOf } from '@selvedge/protocol/jsonrpc'
import { storageRefusal } from '@selvedge/service-kit/store'
import type { JoinBlocks } from '../../../registry/join/join-blocks.ts'
import type { JoinKeys } from '../../../registry/join/join-keys.ts'
import type { JoinRules } from '../../../registry/join/join-rules.ts'
import type { JoinUses } from '../../../registry/join/join-uses.ts'
import type { Audit } from '../../../storage/audit/audit.ts'
import { type Actor, auditOf } from '../context.ts'

export interface JoinKeyParts {
  readonly joinKeys: JoinKeys
  readonly joinUses: JoinUses
  readonly joinRules: JoinRules
  readonly joinBlocks: Pick<JoinBlocks, 'block'>
  readonly audit: Audit
}

/** The address of the request. */
interface JoinContext {
  readonly address: string
}

export function joinKeyHandlers({
  joinKeys,
  joinUses,
  joinRules,
  joinBlocks,
  audit,
}: JoinKeyParts): HandlersOf<JoinKeysMethods, { readonly person: Actor }, JoinContext> {
  const accountOf = ({ membership }: Actor) => membership.accountId

  /** One that fails stops no other. */
  async function decide(
    nodeIds: readonly string[],
    state: 'approved' | 'refused',
    actor: Actor,
    context: JoinContext,
  ): Promise<BulkResult> {
    const result: { done: string[]; failed: BulkResult['failed'] } = { done: [], failed: [] }
    const action = state === 'approved' ? 'join.approve' : 'join.refuse'
    for (const nodeId of new Set(nodeIds)) {
      try {
        await joinUses.decide(accountOf(actor), nodeId, state)
        await audit.record(auditOf(actor, context, action, nodeId))
        result.done.push(nodeId)
      } catch (cause) {
        const refusal = cause instanceof RpcError ? cause : storageRefusal(cause)
        if (!refusal) throw cause
        result.failed.push({ nodeId, reason: refusal.reason, message: refusal.message })
      }
    }
    return result
  }

  return {
    async 'join_key.create'({ until, project, ...asked }, actor, context) {
      const { secret, shown } = await joinKeys.create({
        ...asked,
        ...{ tags: [...new Set(asked.tags)], project: project ?? '', until: Date.parse(until) },
        ...{ accountId: accountOf(actor), madeBy: actor.person.personId },
      })
      const { keyId, title, uses, expiresAt } = shown
      const detail = `${title || keyId}, for ${uses} devices until ${expiresAt}`
      await audit.record(auditOf(actor, context, 'join_key.create', keyId, { detail }))
      return { key: secret, joinKey: shown }
    },
    'join_key.list': (_, actor) => joinKeys.list(accountOf(actor)),
    async 'join_key.revoke'({ keyId, devices }, actor, context) {
      const { title } = await joinKeys.revoke(accountOf(actor), keyId, devices ? actor.person.email : '')
      const detail = `${title || keyId}${devices ? ', and blocks its devices' : ''}`
      await audit.record(auditOf(actor, context, 'join_key.revoke', keyId, { detail }))
      return devices ? joinBlocks.block(keyId, context.address) : { blocked: 0, toBlock: 0 }
    },
    'join.waiting': (_, actor) => joinUses.waiting(accountOf(actor)),
    'join.rules': (_, actor) => joinRules.find(accountOf(actor)),
    async 'join.set_rules'({ approve }, actor, context) {
      const before = await joinRules.find(accountOf(actor))
      await joinRules.set(accountOf(actor), { approve })
      const [from, to] = [before.approve, approve].map((each) => (each ? 'each device' : 'as the key states'))
      if (from !== to)
        await audit.record(
          auditOf(actor, context, 'join.set_rules', '', { detail: `approval: ${from} → ${to}` }),
        )
      return { approve }
    },
    'join.approve': ({ nodeIds }, actor, context) => decide(nodeIds, 'approved', actor, context),
    'join.refuse': ({ nodeIds }, actor, context) => decide(nodeIds, 'refused', actor, context),
  }
}
