/** The node records of what was received on the local networks: one per node, neighbours of the own account first. */
import type { NodeRecord } from '@selvedge/protocol'
import { isoTime } from '@selvedge/service-kit/clock'
import type { Heard } from './browser.ts'
import { holds, type Network } from './networks.ts'

export interface ShowParts {
  /** The own node, which is left out. */
  readonly nodeId: string
  readonly accountId: string
  readonly networks: readonly Network[]
  /** Unix milliseconds. */
  readonly now: number
}

/** Nodes of the account, or anyone: they see what is announced unsealed, and not which nodes are of the account. */
export type Viewer = 'account' | 'anyone'

/** Addresses that one record shows. */
const maxAddresses = 16

export function showNodes(all: readonly Heard[], viewer: Viewer, parts: ShowParts): NodeRecord[] {
  const heard = viewer === 'account' ? all : all.map((each) => ({ ...each, statement: undefined }))
  const sealed = heard.filter(({ statement }) => statement)
  const isSealed = new Set(sealed.map(({ nodeId }) => nodeId))
  const strangers = heard.filter(({ nodeId }) => !isSealed.has(nodeId)).sort((a, b) => a.firstAt - b.firstAt)
  sealed.sort((a, b) => (a.nodeId < b.nodeId ? -1 : 1))
  const byNode = new Map<string, Heard[]>()
  for (const each of [...sealed, ...strangers]) {
    if (each.nodeId === parts.nodeId) continue
    byNode.set(each.nodeId, [...(byNode.get(each.nodeId) ?? []), each])
  }
  return [...byNode.values()].map((each) => recordOf(each, parts))
}

/** @param all what was received from one node: at least one record; all are sealed, or no record is */
function recordOf(all: readonly Heard[], { accountId, networks, now }: ShowParts): NodeRecord {
  const { nodeId, statement } = all[0]!
  const addresses = new Set(all.flatMap((each) => addressesOf(each, networks)))
  const ageMs = performance.now() - Math.max(...all.map(({ heardAt }) => heardAt))
  return {
    nodeId,
    name: statement?.name ?? null,
    accountId: statement ? accountId : null,
    state: statement ? 'online' : 'seen',
    addresses: [...addresses].slice(0, maxAddresses),
    services: [...(statement?.services ?? [])],
    heardAt: isoTime(now - ageMs),
    distance: null,
    fix: null,
  }
}

/** The sealed addresses of a neighbour that are on that network; the sender address of a stranger. */
function addressesOf(
  { statement, network: name, from }: Heard,
  networks: readonly Network[],
): readonly string[] {
  const network = networks.find((each) => each.name === name)
  if (!statement || !network) return [from]
  return statement.hosts.filter((host) => holds(network, host))
}
