/** Where the events of each topic come from: features are read again when they signal a change. */
import { type NodeRecord, neighbour, RpcError, type TopicName } from '@selvedge/protocol'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import { inBackground, safely } from '@selvedge/service-kit/safely'
import type { Device } from '../../device/device.ts'
import type { Signal } from '../../device/signals.ts'
import type { Location } from '../../location/location.ts'
import type { Services } from '../../services/services.ts'
import type { Channel } from './channel.ts'
import { createLogChannel } from './log-channel.ts'
import { createStateChannel } from './state-channel.ts'

export interface Source {
  /** Whether each client of the account has a channel of its own. Otherwise all callers of the account see the same. */
  readonly isOfClient?: true
  /** Signals after which the source is read again. */
  readonly signals: readonly Signal[]
  /** @param onChange called when there is news, besides the signals */
  readonly open: (owner: AccessClaims, onChange: () => void) => Channel
}

export type Sources = Readonly<Record<TopicName, Source>>

export interface SourceParts {
  readonly device: Pick<Device, 'state' | 'identity' | 'clock' | 'notices'>
  readonly location: Pick<Location, 'gps' | 'nodes' | 'discovery'>
  readonly services: {
    readonly containers: ContainerViews
    readonly images: Pick<Services['images'], 'pulls'>
    readonly apps: Pick<Services['apps'], 'deployments'>
  }
}

type ContainerViews = Pick<Services['containers'], 'statuses' | 'lastLines' | 'followLogs'>

/** Milliseconds between two requests for the nodes of the account, while a client follows them. */
const nodesIntervalMs = 30_000

export function createSources({ device, location, services }: SourceParts): Sources {
  const { state, identity, clock, notices } = device
  const { containers, images, apps } = services
  const stateOf = (topic: TopicName, signals: readonly Signal[], read: (owner: AccessClaims) => unknown) => ({
    signals,
    open: (owner: AccessClaims) => createStateChannel(topic, () => read(owner)),
  })
  return {
    account: stateOf('account', ['state'], () => ({
      accountId: state.value.accountId,
      confirmed: state.value.report === null,
    })),
    fixes: stateOf('fixes', ['state', 'fixes'], () => lastFix(location.gps)),
    containers: {
      ...stateOf('containers', ['containers'], (owner) => containers.statuses(owner)),
      isOfClient: true,
    },
    pulls: { ...stateOf('pulls', ['pulls'], (owner) => images.pulls(owner)), isOfClient: true },
    apps: { ...stateOf('apps', ['apps', 'pulls'], (owner) => apps.deployments(owner)), isOfClient: true },
    logs: {
      isOfClient: true,
      signals: [],
      open(owner, onChange) {
        const last = (count: number) => containers.lastLines(owner, count)
        const follow = (onLine: (line: object) => void) => containers.followLogs(owner, onLine)
        return createLogChannel('logs', { last, follow }, onChange)
      },
    },
    nodes: {
      signals: [],
      open: (owner, onChange) => {
        const isOwners = () => state.value.accountId === owner.account_id
        return openNodes(location.nodes, isOwners, onChange)
      },
    },
    connectivity: stateOf('connectivity', ['links'], () => ({
      identity: identity.link.status(),
      discovery: location.discovery.link.status(),
    })),
    clock: stateOf('clock', ['links'], () => ({ state: clock.state() })),
    notices: stateOf('notices', ['notices'], () => notices.list()),
  }
}

function lastFix(gps: Location['gps']): object | null {
  try {
    return gps.last()
  } catch (cause) {
    if (cause instanceof RpcError && cause.reason === 'not_found') return null
    throw cause
  }
}

/** Nodes of the account are requested for all readers together. Those on the local network announce themselves. */
function openNodes(nodes: Location['nodes'], isOwners: () => boolean, onChange: () => void): Channel {
  let page: readonly NodeRecord[] | null = null
  const shown = (all: readonly NodeRecord[]) => (isOwners() ? all.map((each) => neighbour.parse(each)) : [])
  const read = () => ({ account: page && shown(page), linkLocal: shown(nodes.heard()) })
  const request = async () => {
    page = await nodes.firstPage()
    onChange()
  }
  const timer = setInterval(safely('events.nodes', request), nodesIntervalMs)
  timer.unref()
  inBackground('events.nodes', request())
  return createStateChannel('nodes', read, () => clearInterval(timer))
}
