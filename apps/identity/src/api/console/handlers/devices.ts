import { RpcError } from '@selvedge/protocol'
import type { Device } from '@selvedge/protocol/console'
import { isoTime } from '@selvedge/service-kit/clock'
import type { DeviceLabel, DeviceLabels } from '../../../registry/nodes/device-labels.ts'
import type { DeviceVitalsStore } from '../../../registry/nodes/device-vitals.ts'
import type { Node, Nodes } from '../../../registry/nodes/nodes.ts'
import type { Revocations } from '../../../registry/revocation/revocations.ts'
import type { Audit } from '../../../storage/audit/audit.ts'
import { auditOf, type ConsoleContext, type ConsoleHandlers, done, type Viewer } from '../context.ts'
import type { DescribeDevice } from '../describe-device.ts'
import type { Places } from '../places.ts'

export interface DeviceParts {
  /** Describes a device without its location. */
  readonly describe: DescribeDevice
  /** Unix milliseconds: devices that were seen then or later are online. */
  readonly onlineSince: () => number
  readonly nodes: Nodes
  readonly labels: DeviceLabels
  readonly vitals: DeviceVitalsStore
  readonly revocations: Revocations
  readonly places: Places
  readonly audit: Audit
}

/** Devices of one page. */
const pageSize = 100

export function deviceHandlers({
  nodes,
  labels,
  vitals,
  describe,
  onlineSince,
  revocations,
  places,
  audit,
}: DeviceParts) {
  async function own(nodeId: string, { membership }: Viewer): Promise<Node> {
    const node = await nodes.find(nodeId)
    if (node?.accountId !== membership.accountId)
      throw new RpcError('not_found', `the account has no device ${nodeId}`)
    return node
  }

  async function withPlaces(
    accountId: string,
    some: readonly { readonly node: Node; readonly label: DeviceLabel }[],
  ): Promise<{ devices: Device[]; hasPlaces: boolean }> {
    const fixes = await places.find(
      accountId,
      some.map(({ node }) => node.nodeId),
    )
    const devices = some.map(({ node, label }) => {
      const { nodeId: _, ...fix } = fixes?.get(node.nodeId) ?? { nodeId: '' }
      const seen = 'fixedAt' in fix ? Math.max(node.lastSeenAt, Date.parse(fix.fixedAt)) : node.lastSeenAt
      const named = { label: label.name, tags: [...label.tags] }
      return { ...describe({ ...node, lastSeenAt: seen }), ...named, fix: 'fixedAt' in fix ? fix : null }
    })
    return { devices, hasPlaces: fixes !== undefined }
  }

  /** A change of one device of the account, with its entry in the audit log. */
  const change =
    (action: string, work: (nodeId: string) => Promise<unknown>) =>
    async ({ nodeId }: { nodeId: string }, viewer: Viewer, context: ConsoleContext) => {
      await own(nodeId, viewer)
      await work(nodeId)
      await audit.record(auditOf(viewer, context, action, nodeId))
      return done
    }

  return {
    'device.list': async (
      { page = 0, search = '', state, tag, sort = 'added', descending = false },
      viewer,
    ) => {
      const { accountId } = viewer.membership
      const { nodes: some, ...counted } = await nodes.page(accountId, {
        ...{ search, state, tag, page, size: pageSize, onlineSince: onlineSince() },
        ...{ order: sort, isDescending: descending },
      })
      return { ...(await withPlaces(accountId, some)), ...counted, pageSize }
    },
    'device.get': async ({ nodeId }, viewer) => {
      const node = await own(nodeId, viewer)
      const label = await labels.find(node.accountId, nodeId)
      const stated = await vitals.find(node.accountId, nodeId)
      const { devices, hasPlaces } = await withPlaces(node.accountId, [{ node, label }])
      return {
        device: devices[0]!,
        hasPlaces,
        vitals: stated ? { ...stated.vitals, statedAt: isoTime(stated.statedAt) } : null,
      }
    },
    async 'device.track'({ nodeId }, viewer) {
      const { accountId } = await own(nodeId, viewer)
      const track = await places.track(accountId, nodeId)
      return { points: track?.data ?? [], until: track?.until ?? null }
    },
    async 'device.label'({ nodeId, label, tags }, viewer, context) {
      const { accountId } = await own(nodeId, viewer)
      await labels.set(accountId, nodeId, { name: label, tags: [...new Set(tags)] })
      const detail = [label, ...tags].join(' ').trim()
      await audit.record(auditOf(viewer, context, 'device.label', nodeId, { detail }))
      return done
    },
    'device.block': change('device.block', (nodeId) => nodes.setBlocked(nodeId, true)),
    'device.unblock': change('device.unblock', (nodeId) => nodes.setBlocked(nodeId, false)),
    'device.revoke': change('device.revoke', (nodeId) => revocations.revokeAll('node', nodeId)),
    'device.disassociate': change('device.disassociate', (nodeId) => nodes.removeAccount(nodeId)),
  } satisfies ConsoleHandlers
}
