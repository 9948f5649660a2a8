/** Which service may have which port of the device. */
import {
  type ContainerSettings,
  type PortMapping,
  type PortRecord,
  portName,
  RpcError,
  readSettings,
} from '@selvedge/protocol'
import type { Deployments, StoredContainer } from '../deployments/deployments.ts'
import { idOf, ofAccount } from '../deployments/ownership.ts'
import type { GrantedPorts } from '../grants/network-grants.ts'

/** What the containers need of the ports of the device. */
export interface PortKeeper {
  /** @throws as {@link expectPortsFree} */
  expectFree(
    value: Pick<Deployments, 'containers'>,
    key: string,
    container: StoredContainer,
    kind: 'function' | 'oci',
  ): void
  /**
   * Opens the ports of a container that is about to be deployed.
   *
   * @returns what to call after the deployment: ports that the container does not have then are closed
   * @throws RpcError `conflict` if another program of the device has one of them
   */
  claim(container: StoredContainer): Promise<() => void>
  /** The ports of a container, for its owner; undefined if it has no port. */
  records(container: StoredContainer): PortRecord[] | undefined
}

/**
 * Ports below this one are of the system: programs of the device trust what answers there, such as DNS. So only those that the
 * configuration lists may be opened.
 */
const firstFree = 1024

export interface PortRules {
  readonly granted: GrantedPorts
  /** Names of the ports of the runtime itself. */
  readonly reserved: () => ReadonlySet<string>
}

export const portsOf = (container: Pick<StoredContainer, 'env'>): ContainerSettings['MCM.PORTS'] =>
  readSettings(container.env)['MCM.PORTS']

/** Who reaches a port of a container. */
export const reachOfPort = (
  { granted }: Pick<PortRules, 'granted'>,
  container: StoredContainer,
  mapping: PortMapping,
): PortRecord['reach'] => (granted.includes(container, portName(mapping)) ? 'network' : 'loopback')

/**
 * @param kind of the engine of the container
 * @throws RpcError `invalid_params` for a port that no service, or not this one, may have; `conflict` for the port of another
 * container of the account, which the error does not name
 */
export function expectPortsFree(
  { containers }: Pick<Deployments, 'containers'>,
  rules: PortRules,
  key: string,
  container: StoredContainer,
  kind: 'function' | 'oci',
): void {
  const ports = portsOf(container)
  if (ports.length === 0) return
  if (kind === 'function')
    throw new RpcError('invalid_params', 'MCM.PORTS is for OCI containers; a function has no ports', {
      hint: 'Requests reach it through the gateway, at its base path.',
    })
  const others = ofAccount(containers, container.accountId).filter(([other]) => other !== key)
  const taken = new Set(others.flatMap(([, each]) => portsOf(each).map(portName)))
  for (const mapping of ports) {
    const name = portName(mapping)
    if (rules.reserved().has(name))
      throw new RpcError('invalid_params', `the port ${name} belongs to the runtime`, {
        hint: anotherPort(mapping),
      })
    if (mapping.port < firstFree && !rules.granted.opens(container, name))
      throw new RpcError(
        'invalid_params',
        `the port ${name} is privileged, and this device does not grant it`,
        {
          hint: `${anotherPort(mapping)} Or the operator of the device grants it in its configuration: services.publish: ["127.0.0.1:${name} service=${idOf(container)}"]; without 127.0.0.1, also to the network.`,
        },
      )
    if (taken.has(name)) throw takenByOther(mapping)
  }
}

/** Does not name the other service: it may be of another project. */
export const takenByOther = (mapping: PortMapping): RpcError =>
  new RpcError('conflict', `the port ${portName(mapping)} belongs to another service`, {
    hint: anotherPort(mapping),
  })

/** What to do about a port that the service cannot have. */
export const anotherPort = ({ port, target, protocol }: PortMapping): string =>
  `Choose another port of the device, such as "MCM.PORTS": "${port < 50_000 ? port + 10_000 : port - 10_000}:${target}/${protocol}".`
