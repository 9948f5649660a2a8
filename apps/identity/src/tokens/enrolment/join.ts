/** Devices join an account by a join key: who may, and what is written then. */
import { OAuthError } from '@selvedge/protocol'
import { type JoinClaim, joinName, plainSerial } from '@selvedge/protocol/tokens'
import { createLimiter, limitKeyOf, takeOrRefuse } from '@selvedge/service-kit/http'
import type { Statement } from '@selvedge/service-kit/store'
import { decideJoin } from '../../registry/join/decision.ts'
import type { JoinKey, JoinKeys } from '../../registry/join/join-keys.ts'
import type { Joining, JoinStatements, JoinUses } from '../../registry/join/join-uses.ts'
import type { Nodes } from '../../registry/nodes/nodes.ts'
import type { Audit } from '../../storage/audit/audit.ts'
import type { Limits } from '../grants/limits.ts'

/** What a node writes that joins with this request. */
interface JoinWrites extends Pick<JoinStatements, 'take' | 'isTaken'> {
  /** Statements that run after the node was written. */
  readonly records: readonly Statement[]
}

export interface Admission {
  readonly accountId: string
  /** Undefined where the account has the node already. */
  readonly writes?: JoinWrites
}

interface JoinRequest {
  readonly nodeId: string
  /** As the node states it. */
  readonly name: string
  readonly address: string
}

export interface Joins {
  /**
   * @returns the account, and how the node joins it; undefined if it waits for an approval
   * @throws OAuthError `invalid_grant` with the reason, or `temporarily_unavailable`
   */
  admit(claim: JoinClaim, request: JoinRequest): Promise<Admission | undefined>
}

export interface JoinsParts {
  readonly joinKeys: Pick<JoinKeys, 'find'>
  readonly joinUses: Pick<JoinUses, 'join' | 'queue'>
  readonly nodes: Pick<Nodes, 'maxNodes'>
  readonly limits: Pick<Limits, 'takeJoin'>
  readonly audit: Pick<Audit, 'record' | 'statement'>
}

/** Requests with unknown keys from one network address. */
const guesses = { burst: 60, perSecond: 60 / 3600 }
/** Refusals by one key that are recorded. */
const recorded = { burst: 20, perSecond: 20 / 3600 }

export function createJoins({ joinKeys, joinUses, nodes, limits, audit }: JoinsParts): Joins {
  const unknown = createLimiter(guesses)
  const refusals = createLimiter(recorded)

  async function refuse(key: JoinKey | undefined, request: JoinRequest, reason: string): Promise<never> {
    const { nodeId, address } = request
    if (!key) takeOrRefuse(unknown, limitKeyOf(address), 'unknown join keys from this address')
    else if (refusals.take(key.keyId) === 0)
      await audit.record({
        ...{ accountId: key.accountId, actor: 'a device', action: 'join_key.use', subject: key.keyId },
        ...{ address, outcome: 'refused', detail: `${nodeId}: ${reason}` },
      })
    throw new OAuthError('invalid_grant', `the join key is not accepted: ${reason}`)
  }

  async function admit(
    claim: JoinClaim,
    request: JoinRequest,
    isAgain = false,
  ): Promise<Admission | undefined> {
    const { nodeId, address } = request
    const key = await joinKeys.find(claim.key, nodeId)
    const decision = decideJoin(key)
    if (!key || decision.kind === 'refused')
      return refuse(key, request, decision.kind === 'refused' ? decision.reason : '')
    if (decision.kind === 'member') return { accountId: key.accountId }
    if (decision.kind === 'wait') return undefined
    if (!isAgain && decision.kind !== 'approved') await limits.takeJoin(key.keyId, address)
    const serial = plainSerial(claim.serial)
    const joining: Joining = { key, nodeId, serial, address, maxNodes: nodes.maxNodes }
    if (decision.kind !== 'queue') return toAdmission(joining, request)
    if (await joinUses.queue(joining)) return undefined
    return isAgain
      ? refuse(key, request, 'too many devices wait for an approval')
      : admit(claim, request, true)
  }

  function toAdmission(joining: Joining, { name, address }: JoinRequest): Admission {
    const { key, nodeId, serial } = joining
    const { label, ...statements } = joinUses.join(joining)
    const entry = {
      accountId: key.accountId,
      actor: 'the device',
      action: 'device.join',
      subject: nodeId,
      address,
    }
    const shown = joinName(key.name, nodeId, serial) || name
    const detail = `${shown}, with the join key ${key.title || key.keyId}`
    const records = [...label, audit.statement({ ...entry, outcome: 'ok', detail }, statements.isTaken)]
    return { accountId: key.accountId, writes: { ...statements, records } }
  }

  return { admit: (claim, request) => admit(claim, request) }
}
