/** Nodes enter the registry and stay up to date: each request states the name, the account, the version and the services of a node. */
import { OAuthError } from '@selvedge/protocol'
import type { DeviceVitals, JoinClaim, LeaseUse, NodeStatement } from '@selvedge/protocol/tokens'
import { refusesWrites, type Statement } from '@selvedge/service-kit/store'
import type { DeviceAudit } from '../../registry/nodes/device-audit.ts'
import type { DeviceHistory } from '../../registry/nodes/device-history.ts'
import { isFailing, writeNeeds } from '../../registry/nodes/device-needs.ts'
import { type DeviceVitalsStore, writeVitals } from '../../registry/nodes/device-vitals.ts'
import type { EnrolmentCodes } from '../../registry/nodes/enrolment-codes.ts'
import type { LeaseAudit } from '../../registry/nodes/lease-audit.ts'
import type { Node, Nodes } from '../../registry/nodes/nodes.ts'
import { type AccountStatementParts, checkAccountStatement } from '../checks/account-statement.ts'
import type { Limits } from '../grants/limits.ts'
import { agreeHmac } from './agree-hmac.ts'
import type { Admission, Joins } from './join.ts'

/** What a node states. `vitals`: null withdraws them; undefined leaves them as they are. */
interface Stated extends NodeStatement {
  readonly vitals?: DeviceVitals | null | undefined
  /** Leases that were used since its last report. */
  readonly leases?: readonly LeaseUse[] | undefined
  /** The key by which it joins an account. A node that states its account joins by no key. */
  readonly join?: JoinClaim | undefined
}

export interface Enrolment {
  /**
   * The node of a request, enrolled and up to date. A repeated request changes nothing. A node with a join key has its account then, or
   * waits for an approval.
   *
   * @param address network address of the request
   * @throws OAuthError `access_denied` if the node is blocked or may not enrol; `invalid_grant` if its account is full or not proved, or
   *   with the reason against its join key
   */
  bringUpToDate(nodeId: string, stated: Stated, address: string): Promise<Node>
}

export interface EnrolmentParts extends AccountStatementParts {
  readonly nodes: Pick<Nodes, 'find' | 'save' | 'maxNodes'>
  readonly codes: Pick<EnrolmentCodes, 'redeem'>
  readonly limits: Pick<Limits, 'takeEnrolment'>
  /** Whether any node may enrol, or only nodes with a code. */
  readonly enrolment: 'open' | 'code'
  readonly deviceAudit: DeviceAudit
  readonly leaseAudit: LeaseAudit
  readonly vitals: Pick<DeviceVitalsStore, 'find'>
  readonly history: Pick<DeviceHistory, 'record'>
  readonly joins: Joins
}

/** Milliseconds by which "last seen" may be behind: not every token is worth a write. */
const lastSeenStepMs = 60_000

export function createEnrolment(parts: EnrolmentParts): Enrolment {
  const { clock, nodes, deviceAudit } = parts

  async function save(
    nodeId: string,
    stated: Stated,
    known: Node | undefined,
    address: string,
    join?: Admission,
  ): Promise<Node | undefined> {
    const { accountId, token } = join
      ? { accountId: join.accountId }
      : await checkAccountStatement(parts, nodeId, stated, known)
    const now = clock.now()
    const next = nextOf(nodeId, stated, known, accountId, now)
    const nodeKey = JSON.stringify(stated.hmac_key)
    const isSame = known !== undefined && known.hmac.nodeKey === nodeKey && isSameStatement(known, next)
    const isRecent = known !== undefined && Math.abs(now - known.lastSeenAt) < lastSeenStepMs
    const isQuiet = stated.vitals !== null && stated.leases === undefined
    if (isSame && isRecent && isQuiet) return known
    const hmac = known?.hmac.nodeKey === nodeKey ? known.hmac : await agreeHmac(nodeId, stated, nodeKey)
    const node = { ...next, hmac }
    const audit = isSame ? [] : await deviceAudit({ before: known, after: node, token, address })
    const uses = stated.leases ?? []
    const reported = await parts.leaseAudit({
      nodeId,
      accounts: [known?.accountId, accountId],
      uses,
      address,
    })
    // The answer contains what is in the registry, not what was stated: the owner may have changed it meanwhile.
    const saving = nodes.save(node, {
      isNews: !isSame,
      records: [
        ...audit,
        ...reported,
        ...(await eventsOf(parts, stated, known, node)),
        ...vitalsOf(nodeId, stated, now),
        ...needsOf(known, node, stated),
        ...(join?.writes?.records ?? []),
      ],
      join: join?.writes,
      ...(stated.account && { accountBefore: known?.accountId ?? '' }),
    })
    return saving.catch((cause: unknown) => {
      if (known && canWait(known, node, stated) && refusesWrites(cause)) return known
      throw cause
    })
  }

  async function bringUpToDate(
    nodeId: string,
    stated: Stated,
    address: string,
    isAgain = false,
  ): Promise<Node> {
    const known = await nodes.find(nodeId)
    if (known) refuseBlocked(known)
    const { join: claim, name } = stated
    const admission = claim && (await parts.joins.admit(claim, { nodeId, name, address }))
    if (!known && !claim) await checkMayEnrol(parts, nodeId, stated, address)
    if (!admission?.writes) {
      // It may have joined at another replica, and the change is not in memory yet.
      const present = known && admission ? { ...known, accountId: admission.accountId } : known
      return refuseBlocked((await save(nodeId, stated, present, address)) ?? refuseFull(nodes.maxNodes))
    }
    const joining = { ...stated, account: { id: admission.accountId } }
    const saved = await save(nodeId, joining, known, address, admission)
    if (saved) return refuseBlocked(saved)
    // The use of the key may be gone meanwhile, or the same node joined with another request: then this finds out.
    return isAgain ? refuseFull(nodes.maxNodes) : bringUpToDate(nodeId, stated, address, true)
  }

  return { bringUpToDate: (nodeId, stated, address) => bringUpToDate(nodeId, stated, address) }
}

const vitalsOf = (nodeId: string, { vitals }: Stated, now: number): Statement[] =>
  vitals === undefined ? [] : [writeVitals(nodeId, vitals, now)]

/** What happened to a device that stays in its account. What it stated to another account is not compared. */
async function eventsOf(
  { vitals, history }: Pick<EnrolmentParts, 'vitals' | 'history'>,
  stated: Stated,
  known: Node | undefined,
  next: Node,
): Promise<Statement[]> {
  const { nodeId, accountId } = next
  if (!known || accountId === '' || known.accountId !== accountId) return []
  const before = stated.vitals ? await vitals.find(accountId, nodeId) : undefined
  const now = { node: next, vitals: stated.vitals ?? undefined }
  return history.record(nodeId, { node: known, vitals: before?.vitals }, now, next.lastSeenAt)
}

/** What a device needs, where that may have changed: most requests write nothing of it. */
const needsOf = (known: Node | undefined, next: Node, { vitals }: Stated): Statement[] =>
  vitals !== undefined ||
  isFailing(next.services) !== isFailing(known?.services ?? []) ||
  (isFailing(next.services) && known?.accountId !== next.accountId)
    ? writeNeeds({ nodeId: next.nodeId, services: next.services, vitals })
    : []

async function checkMayEnrol(
  { enrolment, limits, codes }: EnrolmentParts,
  nodeId: string,
  { enrolment_code: code }: NodeStatement,
  address: string,
): Promise<void> {
  if (enrolment === 'open') return limits.takeEnrolment(address)
  if (code !== undefined && (await codes.redeem(code, nodeId))) return
  throw new OAuthError(
    'access_denied',
    code === undefined
      ? 'this node is new and enrolment needs a code; create one with "selvedge admin enrolment create" and set identity.enrolmentCode'
      : 'the enrolment code is unknown, used or expired',
  )
}

/** The node as the registry will have it. */
function nextOf(
  nodeId: string,
  stated: NodeStatement,
  known: Node | undefined,
  accountId: string,
  now: number,
): Omit<Node, 'hmac'> {
  return {
    nodeId,
    name: stated.name,
    accountId,
    enrolledAt: known?.enrolledAt ?? now,
    lastSeenAt: now,
    blockedAt: null,
    version: stated.version ?? known?.version ?? '',
    services: stated.services ?? known?.services ?? [],
    // The removal by the owner is complete when the node confirms it, or belongs to an account again.
    removedAccount: stated.account ? '' : (known?.removedAccount ?? ''),
    accountEpoch: known?.accountEpoch ?? 0,
    accountAt: known?.accountAt ?? 0,
  }
}

const isSameStatement = (known: Node, next: Omit<Node, 'hmac'>): boolean =>
  known.name === next.name &&
  known.accountId === next.accountId &&
  known.version === next.version &&
  known.removedAccount === next.removedAccount &&
  JSON.stringify(known.services) === JSON.stringify(next.services)

/** Whether what a node states is stated again later, and decides nothing: with a database that only reads, it gets its token all the same. */
const canWait = (known: Node, next: Node, { leases, vitals }: Stated): boolean =>
  known.accountId === next.accountId &&
  known.removedAccount === next.removedAccount &&
  known.hmac === next.hmac &&
  leases === undefined &&
  vitals !== null

function refuseBlocked(node: Node): Node {
  if (node.blockedAt === null) return node
  throw new OAuthError('access_denied', 'this node is blocked; ask the operator')
}

function refuseFull(maxNodes: number): never {
  const hint = 'remove nodes that are gone, or raise limits.nodes of the identity service'
  throw new OAuthError('invalid_grant', `the account has ${maxNodes} nodes already; ${hint}`)
}
