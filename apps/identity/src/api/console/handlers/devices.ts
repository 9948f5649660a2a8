import { RpcError } from '@selvedge/protocol'
import { deviceHistory } from '@selvedge/protocol/console'
import { isoTime } from '@selvedge/service-kit/clock'
import { createLimiter } from '@selvedge/service-kit/http'
import type { DeviceFacets } from '../../../registry/nodes/device-facets.ts'
import type { DeviceHistory } from '../../../registry/nodes/device-history.ts'
import type { DeviceLabels } from '../../../registry/nodes/device-labels.ts'
import type { ReadAttention } from '../../../registry/nodes/device-needs.ts'
import type { DeviceVitalsStore } from '../../../registry/nodes/device-vitals.ts'
import type { Node, Nodes } from '../../../registry/nodes/nodes.ts'
import type { Revocations } from '../../../registry/revocation/revocations.ts'
import type { Audit } from '../../../storage/audit/audit.ts'
import { createBulk, type DeviceChange } from '../bulk.ts'
import {
  auditOf,
  beforeAndAfter,
  type ConsoleContext,
  type ConsoleHandlers,
  done,
  expectTurn,
  type Viewer,
} from '../context.ts'
import type { DeviceStates } from '../device-states.ts'
import type { Places } from '../places.ts'
import type { ShowDevices } from '../show-devices.ts'

export interface DeviceParts {
  readonly show: ShowDevices
  readonly places: Pick<Places, 'track'>
  readonly states: DeviceStates
  readonly nodes: Nodes
  readonly labels: DeviceLabels
  readonly vitals: DeviceVitalsStore
  readonly history: Pick<DeviceHistory, 'list'>
  readonly attention: ReadAttention
  readonly revocations: Revocations
  readonly facets: (accountId: string) => Promise<DeviceFacets>
  readonly audit: Audit
}

/** Devices of one page. */
const pageSize = 100
/** Rows of the audit log in the history of a device. */
const maxChanges = 100
/** Searches of one person: each reads the names of the whole account. */
const searchRate = { burst: 30, perSecond: 2 }

/** Changes of one device of the account, each with its entry in the audit log. */
function createChanges({ nodes, revocations, audit }: DeviceParts) {
  async function own(nodeId: string, { membership }: Viewer): Promise<Node> {
    const node = await nodes.find(nodeId)
    if (node?.accountId !== membership.accountId)
      throw new RpcError('not_found', `the account has no device ${nodeId}`)
    return node
  }

  const change =
    (action: string, work: (nodeId: string) => Promise<unknown>): DeviceChange =>
    async (nodeId, viewer, context) => {
      await own(nodeId, viewer)
      await work(nodeId)
      await audit.record(auditOf(viewer, context, action, nodeId))
    }

  return {
    own,
    block: change('device.block', (nodeId) => nodes.setBlocked(nodeId, true)),
    unblock: change('device.unblock', (nodeId) => nodes.setBlocked(nodeId, false)),
    revoke: change('device.revoke', (nodeId) => revocations.revokeAll('node', nodeId)),
    disassociate: change('device.disassociate', (nodeId) => nodes.removeAccount(nodeId)),
  }
}

/** One device: what is known of it, and where it was. */
const createViews = (
  { labels, vitals, places, states, show, history, audit }: DeviceParts,
  own: (nodeId: string, viewer: Viewer) => Promise<Node>,
) =>
  ({
    'device.get': async ({ nodeId }, viewer) => {
      const node = await own(nodeId, viewer)
      const label = await labels.find(node.accountId, nodeId)
      const stated = await vitals.find(node.accountId, nodeId)
      const { devices, hasPlaces } = await show(node.accountId, [{ node, label }], states.now())
      return {
        device: devices[0]!,
        hasPlaces,
        vitals: stated ? { ...stated.vitals, statedAt: isoTime(stated.statedAt) } : null,
      }
    },
    'device.history': async ({ nodeId }, viewer) => {
      const { accountId } = await own(nodeId, viewer)
      const [events, changes] = await Promise.all([
        history.list(accountId, nodeId),
        audit.list(accountId, maxChanges, undefined, { subject: nodeId }),
      ])
      return deviceHistory(events, changes)
    },
    'device.track': async ({ nodeId }, viewer) => {
      const { accountId } = await own(nodeId, viewer)
      const track = await places.track(accountId, nodeId)
      return { points: track?.data ?? [], until: track?.until ?? null }
    },
  }) satisfies ConsoleHandlers

export function deviceHandlers(parts: DeviceParts) {
  const { nodes, labels, facets, show, states, attention, audit } = parts
  const { own, ...changes } = createChanges(parts)
  const one =
    (change: DeviceChange) => async (asked: { nodeId: string }, viewer: Viewer, context: ConsoleContext) => {
      await change(asked.nodeId, viewer, context)
      return done
    }
  const bulk = createBulk()
  const searches = createLimiter(searchRate)
  const all =
    (change: DeviceChange) => (asked: { nodeIds: string[] }, viewer: Viewer, context: ConsoleContext) =>
      bulk(asked.nodeIds, viewer, context, change)

  return {
    'device.list': async (
      { page = 0, search = '', sort = 'added', descending = false, ...filter },
      viewer,
      context,
    ) => {
      const { accountId } = viewer.membership
      if (search !== '') expectTurn(searches, viewer.person.personId, context, 'searches')
      const { state, tag, service, version, need } = filter
      const at = states.now()
      const { nodes: some, ...counted } = await nodes.page(accountId, {
        ...{ search, state, tag, service, version, need, page, size: pageSize },
        ...{ onlineSince: states.onlineSince(at), order: sort, isDescending: descending },
      })
      const shown = await show(accountId, some, at)
      return { ...shown, ...counted, pageSize, at: isoTime(at), onlineSeconds: states.onlineMs / 1000 }
    },
    'device.attention': async (_, viewer) => {
      const { accountId } = viewer.membership
      const { lastSeenAt, ...found } = await attention(accountId, states.onlineSince(states.now()))
      return { ...found, lastSeenAt: lastSeenAt === null ? null : isoTime(lastSeenAt) }
    },
    'device.facets': (_, viewer) => facets(viewer.membership.accountId),
    ...createViews(parts, own),
    async 'device.label'({ nodeId, label, tags }, viewer, context) {
      const { accountId } = await own(nodeId, viewer)
      const { name, tags: tagsBefore } = await labels.find(accountId, nodeId)
      await labels.set(accountId, nodeId, { name: label, tags: [...new Set(tags)] })
      const words = (named: string, all: readonly string[]) => [named, ...all].join(' ').trim()
      const detail = beforeAndAfter(words(name, tagsBefore), words(label, tags))
      await audit.record(auditOf(viewer, context, 'device.label', nodeId, { detail }))
      return done
    },
    'device.block': one(changes.block),
    'device.unblock': one(changes.unblock),
    'device.revoke': one(changes.revoke),
    'device.disassociate': one(changes.disassociate),
    'devices.block': all(changes.block),
    'devices.unblock': all(changes.unblock),
    'devices.revoke': all(changes.revoke),
    'devices.tag': ({ nodeIds, add, remove }, viewer, context) =>
      bulk(nodeIds, viewer, context, async (nodeId) => {
        const { accountId } = await own(nodeId, viewer)
        await labels.tag(accountId, nodeId, { add, remove })
        const detail = [...add.map((each) => `+${each}`), ...remove.map((each) => `-${each}`)].join(' ')
        await audit.record(auditOf(viewer, context, 'device.tag', nodeId, { detail }))
      }),
  } satisfies ConsoleHandlers
}
