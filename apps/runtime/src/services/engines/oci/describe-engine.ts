/** What a person should know of the engine for images with a root file system. */
import { type RpcError, readSettings } from '@selvedge/protocol'
import type { EngineReport } from '../engine.ts'
import { findEngine } from './engine-api.ts'
import { type EngineTraits, isInVirtualMachine, type TraitsOf } from './engine-traits.ts'
import { canGive } from './given.ts'
import type { HostGuard } from './host-guard.ts'
import { rangesHint } from './id-ranges.ts'
import { canOpenOutput } from './open-output.ts'
import type { Outbound } from './outbound/outbound.ts'
import { privateMountsHint } from './private-mounts.ts'
import { layersOf, outboundLayer } from './profile.ts'
import type { UsersOf } from './users.ts'

/** By its socket: engines answer this API under each other's names. */
const nameOf = (socketPath: string): string =>
  ['Podman', 'Docker', 'balenaEngine'].find((each) =>
    socketPath.toLowerCase().includes(each.toLowerCase()),
  ) ?? 'Container engine'

const outputHint =
  'Programs in containers cannot open /dev/stdout again, as log files of web servers that are links to it: for that, the runtime needs to run as root.'

const limitsHint =
  'The engine does not limit the memory, the processor and the processes of containers (MCM.MEMORY_MB, MCM.CPU, MCM.PIDS): run it as root, or on a device with cgroup v2 that delegates these controllers to its user.'

const givenHint =
  'Containers get no devices and no folders of the device (MCM.DEVICES, MCM.MOUNTS): for that, the runtime needs to run as root, with Podman as root.'

const closedHint = (why: string): string =>
  `Containers connect to no address by themselves, and reach MCM.OUTBOUND through their socket only: ${why}. For ordinary connections, run the runtime and Podman as root, with iptables and nftables.`

const kindOf = ({ isRootless }: EngineTraits): string => {
  if (isInVirtualMachine) return ', in a virtual machine'
  return isRootless ? ', rootless' : ''
}

const machineHint =
  'Containers run in a virtual machine of the engine: they get no devices, no folders and no way out of their own, and do not reach the runtime by their socket. Use this machine for development, and Linux in production.'

const unpublishedHint =
  'Docker without root publishes no port of a network without a way out: deploy containers with "MCM.NETWORK": "open", or use Podman.'

/** How the engine gets user namespaces for containers. */
const usersHint = ({ isPodman }: EngineTraits): string =>
  isPodman
    ? `${rangesHint}. Until then, containers have fewer capabilities.`
    : 'Set "userns-remap": "default" in the configuration of the engine, or use Podman, so that root in a container is not root of the device. Until then, containers have fewer capabilities.'

/**
 * Describes the engine with the layers that a container gets by default.
 *
 * @param socket of the engine; empty: the first that is found
 * @param traitsOf how it is asked
 * @param missingDevices devices that the configuration grants and no container gets, each with the reason. Never rejects
 */
export async function describeEngine(
  socket: string,
  traitsOf: TraitsOf,
  { missing }: HostGuard,
  users: UsersOf,
  outbound: Pick<Outbound, 'missing'>,
  missingDevices: readonly string[] = [],
): Promise<EngineReport> {
  try {
    const api = findEngine(socket)
    const traits = await traitsOf(api)
    const { isRootless } = traits
    const version = traits.version && `${nameOf(api.socketPath)} ${traits.version}`
    const detail = `${api.socketPath}, version ${traits.version}${kindOf(traits)}`
    const kind = users.usual(traits)
    const closed = outbound.missing(traits)
    const left = kind === 'own' && traits.isPodman && !isRootless ? privateMountsHint() : undefined
    const hints = [
      ...(missing === undefined || isRootless
        ? []
        : [`Containers reach programs of this device that listen on all addresses: ${missing}.`]),
      ...(kind === 'device' ? [usersHint(traits)] : []),
      ...(kind === 'own' && !canOpenOutput() ? [outputHint] : []),
      ...(left === undefined ? [] : [left]),
      ...(isRootless && !traits.isPodman && !isInVirtualMachine ? [unpublishedHint] : []),
      ...(traits.hasCgroups ? [] : [limitsHint]),
      ...(isInVirtualMachine ? [machineHint] : []),
      ...(canGive(traits) || isInVirtualMachine ? [] : [givenHint]),
      ...(closed === undefined || isInVirtualMachine ? [] : [closedHint(closed)]),
      ...missingDevices.map((each) => `services.devices grants a device that no container gets: ${each}.`),
    ]
    return {
      available: true,
      ...(version && { version }),
      detail,
      isolation: [
        ...layersOf({ kind }, 'root', traits, readSettings({})),
        ...(closed === undefined ? [outboundLayer] : []),
      ],
      hints,
    }
  } catch (cause) {
    const { message, hint = '' } = cause as RpcError
    return { available: false, detail: message, isolation: [], hints: hint === '' ? [] : [hint] }
  }
}
