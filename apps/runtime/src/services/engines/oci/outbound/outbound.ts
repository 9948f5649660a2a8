/**
 * The way out of containers: packets to what `MCM.OUTBOUND` allows, and to nothing else. It needs a runtime as root, Podman as root and
 * nftables; elsewhere a container has no way out but its socket.
 */
import { networkInterfaces } from 'node:os'
import { outboundOf, RpcError } from '@selvedge/protocol'
import type { GrantedAddresses } from '../../../grants/network-grants.ts'
import type { Plan } from '../../engine.ts'
import type { EngineApi } from '../engine-api.ts'
import type { EngineTraits } from '../engine-traits.ts'
import type { Exception, HostGuard } from '../host-guard.ts'
import { type Destinations, readDestinations } from './destinations.ts'
import { createMembers } from './members.ts'
import { findTools, type Namespace, openNamespace, type Tools } from './namespace.ts'
import { createOpened } from './opened.ts'
import { type AskUpstream, openResolver, type Resolver } from './resolver.ts'
import { rulesOf } from './rules.ts'

export interface OutboundParts {
  readonly guard: HostGuard
  readonly granted: GrantedAddresses
  /** Sends questions to the name servers of the device. */
  readonly ask: AskUpstream
}

/** The network of a container that is initialized or runs. */
interface OutboundNetwork {
  readonly api: EngineApi
  /** Of the container, and of its network. */
  readonly name: string
  /** Address of this device in it. */
  readonly gateway: string
  /** Address of the container. */
  readonly address: string
}

/** What the rules of a container follow from, beside its destinations. */
type LimitedPlan = Pick<Plan, 'log' | 'key' | 'members'>

export interface Outbound {
  /** Why containers have no way out; undefined where they have. */
  missing(traits: EngineTraits): string | undefined
  /** Where the packets of a container may lead; undefined if it has no way out. Writes to its log what it does not reach. */
  destinationsOf(plan: Plan, traits: EngineTraits): Destinations | undefined
  /**
   * Sets the rules, before the program of the container starts; for one that runs, again.
   *
   * @throws RpcError `engine_unavailable` if that fails: the container must not run then
   */
  limit(network: OutboundNetwork, destinations: Destinations, plan: LimitedPlan): Promise<void>
  /** Ends what belongs to a container that has exited, before its address may be that of another one. Never rejects. */
  release(name: string): Promise<void>
  /** The rules of containers that continue stay. */
  close(): void
}

interface Limited {
  readonly namespace: Namespace
  readonly resolver: Resolver
}

export function createOutbound({ guard, granted, ask }: OutboundParts): Outbound {
  const tools = findTools()
  const limited = new Map<string, Limited>()
  const members = createMembers()
  const now = () => performance.now()

  const missing = ({ isPodman, isRootless }: EngineTraits): string | undefined => {
    if (!isPodman || isRootless) return 'it needs Podman as root'
    return typeof tools === 'string' ? tools : guard.missing
  }

  function forget(name: string): void {
    const one = limited.get(name)
    limited.delete(name)
    one?.resolver.close()
    one?.namespace.close()
  }

  function release(name: string): Promise<void> {
    forget(name)
    return members.remove(name)
  }

  async function setRules(network: OutboundNetwork, destinations: Destinations, plan: LimitedPlan) {
    const { api, name, gateway, address } = network
    const { log, key, members: names } = plan
    await release(name)
    const namespace = await openNamespace(api, name, tools as Tools)
    try {
      const opened = createOpened(namespace.apply, now)
      const resolver = await openResolver({
        address: gateway,
        client: address,
        destinations,
        opened,
        askMember: names && members.askOf(name),
        ask,
        log: (text) => log('runtime', text),
        now,
      })
      limited.set(name, { namespace, resolver })
      // Side by side: a container that starts waits for the programs that set them.
      await allDone([
        guard.except(name, exceptionsOf(network, destinations, resolver.port)),
        namespace.apply(rulesOf({ destinations, gateway, resolverPort: resolver.port })),
      ])
      if (names) await members.add(name, { key, address, names, apply: namespace.apply })
    } catch (cause) {
      namespace.close()
      throw cause
    }
  }

  return {
    missing,
    destinationsOf: (plan, traits) => destinationsOf(plan, granted, missing(traits)),
    async limit(network, destinations, plan) {
      try {
        await setRules(network, destinations, plan)
      } catch (cause) {
        await release(network.name)
        throw cause instanceof RpcError ? cause : failed(cause as Error)
      }
    },
    release,
    close() {
      for (const name of [...limited.keys()]) forget(name)
    },
  }
}

/** Waits for all, also if one fails: nothing changes rules any more while the caller removes them. @throws what the first of them threw */
async function allDone(works: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(works)
  await Promise.all(works)
}

/** @param why containers have no way out; undefined where they have */
function destinationsOf(
  { id, content, settings, log, asking, members }: Plan,
  granted: GrantedAddresses,
  why: string | undefined,
): Destinations | undefined {
  const entries = outboundOf(settings['MCM.OUTBOUND'], content.kind)
  if ((entries.length === 0 && !members) || settings['MCM.NETWORK'] !== 'isolated') return undefined
  if (why !== undefined) {
    if (members) log('runtime', `it does not find other members of its app: ${why}`)
    const isAsked = settings['MCM.OUTBOUND'].length > 0
    if (isAsked) log('runtime', `it reaches MCM.OUTBOUND through its socket only: ${why}`)
    return undefined
  }
  const destinations = readDestinations(entries, granted(asking))
  if (destinations.refused.length > 0) log('runtime', refusalOf(id, destinations.refused))
  return destinations
}

const failed = (cause: Error): RpcError =>
  new RpcError(
    'engine_unavailable',
    `the way out of the container cannot be limited: ${cause.message.slice(0, 300)}`,
    {
      cause,
      hint: 'Check that "nft list ruleset" works on the device, or deploy it with "MCM.OUTBOUND": "none".',
    },
  )

/** Entries that a line of a log names. */
const maxNamed = 10

const refusalOf = (id: string, refused: readonly string[]): string =>
  `packets do not reach ${refused.slice(0, maxNamed).join(', ')}${refused.length > maxNamed ? ' …' : ''} of MCM.OUTBOUND: services.outbound of the device does not grant them to ${id}, or no packet may reach them`

/** What the container reaches on the device itself: the resolver, and addresses of the device that are listed one by one. */
function exceptionsOf(
  { gateway }: OutboundNetwork,
  { local }: Destinations,
  resolverPort: number,
): Exception[] {
  const own = new Set(
    Object.values(networkInterfaces()).flatMap((list = []) => list.map(({ address }) => address)),
  )
  const ofDevice = local.filter(({ network }) => own.has(network.replace(/\/32$/, '')))
  return [
    { to: gateway, protocol: 'udp', port: resolverPort },
    ...ofDevice.flatMap(({ network, ports }) =>
      ports.flatMap((port) =>
        (['tcp', 'udp'] as const).map((protocol) => ({ to: network.replace(/\/32$/, ''), protocol, port })),
      ),
    ),
  ]
}
