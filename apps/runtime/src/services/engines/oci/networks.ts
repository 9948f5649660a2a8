/**
 * A separate network for each container: it reaches no other container, nothing beyond the device, and no program
 * of the device. The runtime reaches
 * the container by its address in that network, or, where the engine does not run as root, by a port on the loopback.
 */
import { hash } from 'node:crypto'
import { BlockList, isIPv4 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type PortMapping, RpcError } from '@selvedge/protocol'
import type { Plan, TcpUpstream } from '../engine.ts'
import * as answers from './answers.ts'
import { labels } from './create-body.ts'
import { type EngineApi, EngineError, ignoreMissing } from './engine-api.ts'
import type { EngineTraits } from './engine-traits.ts'
import type { HostGuard } from './host-guard.ts'

/** How the runtime reaches a container. */
export interface Reach {
  /** The container's own network; undefined for the engine's. */
  readonly network: string | undefined
  /** Whether its port is published to the loopback. */
  readonly isPublished: boolean
  /** Whether it is in the network of the device, and listens there itself. */
  readonly isOfDevice?: true
  /** Whether its packets leave the device: only with rules that limit them (`outbound`). */
  readonly hasWayOut: boolean
}

/**
 * How the runtime reaches a container; the name is that of the container and of its network. The networks of an engine without root
 * are in a namespace that the runtime is not in.
 */
export const reachOf = (
  name: string,
  { settings }: Plan,
  { isRootless }: Pick<EngineTraits, 'isRootless'>,
  hasWayOut: boolean,
): Reach => {
  if (settings['MCM.NETWORK'] === 'host')
    return { network: undefined, isPublished: false, hasWayOut: false, isOfDevice: true }
  return settings['MCM.NETWORK'] === 'open'
    ? { network: undefined, isPublished: true, hasWayOut: false }
    : { network: name, isPublished: isRootless, hasWayOut }
}

/**
 * The network interface of a network on this device (at most 15 characters). By itself, an engine counts its own networks: two engines
 * on a device take the same name, and the containers of one are in the network of the other.
 */
const interfaceOf = (name: string, owner: string): string =>
  `sv-${hash('sha256', `${owner} ${name}`, 'hex').slice(0, 12)}`

/** Attempts at a network, where the engine fails because an interface of the device was removed meanwhile. */
const attempts = 5

/** Replaces the network of a container: another program may have prepared the one that exists. */
export async function createNetwork(
  api: EngineApi,
  name: string,
  owner: string,
  hasWayOut = false,
): Promise<void> {
  await removeNetwork(api, name)
  const [path, body] = hasWayOut ? openNetwork(name, owner) : internalNetwork(name, owner)
  for (let left = attempts; ; left--) {
    try {
      return await api.send('POST', path, body)
    } catch (cause) {
      if (left === 1 || !(cause instanceof EngineError && cause.hasRaced)) throw cause
    }
  }
}

const internalNetwork = (name: string, owner: string): [path: string, body: object] => [
  '/networks/create',
  {
    Name: name,
    Driver: 'bridge',
    Internal: true,
    CheckDuplicate: true,
    Options: { 'com.docker.network.bridge.name': interfaceOf(name, owner) },
    Labels: { [labels.owner]: owner },
  },
]

/** By the API of Podman: by the other one, a network with a way out has a name server of the engine. */
const openNetwork = (name: string, owner: string): [path: string, body: object] => [
  '/libpod/networks/create',
  {
    name,
    driver: 'bridge',
    network_interface: interfaceOf(name, owner),
    internal: false,
    ipv6_enabled: false,
    dns_enabled: false,
    labels: { [labels.owner]: owner },
  },
]

export const removeNetwork = (api: EngineApi, name: string): Promise<void> =>
  api.send('DELETE', `/networks/${name}`).catch(ignoreMissing) as Promise<void>

/**
 * Keeps the containers of a network from programs of this device. With Docker, a container without a way out has a default route, and only the
 * packet filter of the daemon keeps its packets in: with `iptables: false` it has no rules.
 *
 * @returns the address of this device in it
 * @throws as {@link HostGuard.protect}
 */
export async function protectFrom(
  api: EngineApi,
  guard: HostGuard,
  name: string,
  { isPodman }: Pick<EngineTraits, 'isPodman'>,
): Promise<string> {
  const { IPAM } = await api.read(`/networks/${name}`, answers.network)
  // IPv6 is turned off in the container.
  const subnets = (IPAM.Config ?? []).filter(({ Subnet }) => !Subnet.includes(':'))
  if (subnets.length !== 1)
    throw new RpcError(
      'engine_unavailable',
      `the network of the container has ${subnets.length} IPv4 subnets; expected 1`,
    )
  await guard.protect(name, subnets[0]!.Subnet, !isPodman)
  return subnets[0]!.Gateway ?? ''
}

/** Removes the networks of this runtime that no container uses. @returns the names of those that stay */
export async function removeUnusedNetworks(api: EngineApi, owner: string): Promise<string[]> {
  const names: string[] = []
  const filter = encodeURIComponent(JSON.stringify({ label: [`${labels.owner}=${owner}`] }))
  for (const { Name, Labels } of await api.read(`/networks?filters=${filter}`, answers.networks)) {
    if (Labels[labels.owner] !== owner) continue
    // One that is in use is refused.
    await removeNetwork(api, Name).catch((cause) => {
      if (!(cause instanceof EngineError)) throw cause
      names.push(Name)
    })
  }
  return names
}

/**
 * Where the container answers.
 *
 * @throws EngineError when it has no address that this device reaches, or no published port
 */
export function upstreamOf(
  { NetworkSettings }: answers.Inspected,
  { network, isPublished, isOfDevice }: Reach,
  { target: port, protocol }: Pick<PortMapping, 'target' | 'protocol'>,
): TcpUpstream {
  if (isOfDevice) return { host: '127.0.0.1', port }
  if (network === undefined || isPublished) {
    const published = Number(NetworkSettings.Ports?.[`${port}/${protocol}`]?.[0]?.HostPort)
    if (published > 0 && published < 65_536) return { host: '127.0.0.1', port: published }
    throw new EngineError(
      500,
      network === undefined
        ? 'it did not publish the port'
        : 'it did not publish the port, as Docker in a network without a way out; set MCM.NETWORK to "open", or use Podman',
    )
  }
  const host = NetworkSettings.Networks?.[network]?.IPAddress ?? ''
  const localAddress = ownAddressBeside(host)
  if (localAddress !== undefined) return { host, port, localAddress }
  throw new EngineError(
    500,
    `this device has no address in the network of the container (${host || 'none'}); set MCM.NETWORK to "open"`,
  )
}

/** The address of this device in the network that an address is in. */
function ownAddressBeside(address: string): string | undefined {
  if (!isIPv4(address)) return undefined
  const own = Object.values(networkInterfaces()).flatMap((list = []) => list)
  return own.find(({ family, internal, cidr }) => {
    if (family !== 'IPv4' || internal || cidr === null) return false
    const [net = '', bits] = cidr.split('/')
    const list = new BlockList()
    list.addSubnet(net, Number(bits), 'ipv4')
    return list.check(address, 'ipv4')
  })?.address
}
