/** What an engine is and can do. It is asked rarely: some take most of a second to answer. */
import { readFileSync } from 'node:fs'
import type * as z from 'zod'
import * as answers from './answers.ts'
import type { EngineApi } from './engine-api.ts'

export interface EngineTraits {
  readonly version: string | undefined
  readonly isPodman: boolean
  /** It runs as a user of the device, in a user namespace of that user; or in a virtual machine, on systems other than Linux. */
  readonly isRootless: boolean
  /** All its containers are in one user namespace (`userns-remap` of Docker). */
  readonly isRemapped: boolean
  /** It limits the memory, the processor and the processes of containers. */
  readonly hasCgroups: boolean
  /** Containers get its default seccomp profile. */
  readonly hasSeccomp: boolean
  /** Folder of its images and containers. */
  readonly folder: string | undefined
  /** Whether it can limit the size of a root file system itself. */
  readonly hasQuota: boolean
}

/**
 * Whether engines run in a virtual machine: on every system but Linux. Their containers are no processes of this device, and only their
 * published ports are reached.
 */
export const isInVirtualMachine: boolean = process.platform !== 'linux'

export type TraitsOf = (api: EngineApi) => Promise<EngineTraits>

type Info = z.infer<typeof answers.info>

/**
 * Whether the overlay driver can limit a container: its folder is on XFS with project quotas.
 *
 * @param table of the mounts of the device (`/proc/self/mounts`)
 */
export function hasQuota(
  { Driver, DriverStatus, DockerRootDir }: Pick<Info, 'Driver' | 'DriverStatus' | 'DockerRootDir'>,
  table: string,
): boolean {
  const files = DriverStatus?.find(([name]) => name === 'Backing Filesystem')?.[1]
  if (!Driver?.startsWith('overlay') || files !== 'xfs' || DockerRootDir === undefined) return false
  const isAbove = (path: string) => path === '/' || `${DockerRootDir}/`.startsWith(`${path}/`)
  const mount = table
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, path = '']) => isAbove(path))
    .toSorted(([, one = ''], [, other = '']) => one.length - other.length)
    .at(-1)
  return /(?:^|,)(?:prjquota|pquota)(?:,|$)/.test(mount?.[3] ?? '')
}

/** @returns "" on other systems: the engine is in a virtual machine there, with mounts of its own */
function mounts(): string {
  if (process.platform !== 'linux') return ''
  try {
    return readFileSync('/proc/self/mounts', 'utf8')
  } catch {
    return ''
  }
}

/** @param found what the engine answers to `GET /info` */
export function traitsIn(found: Info): EngineTraits {
  const { ServerVersion, SecurityOptions, BuildahVersion, DockerRootDir } = found
  const has = (name: string) => SecurityOptions?.some((each) => each.includes(name)) ?? false
  const isRootless = found.Rootless === true || has('rootless')
  return {
    version: ServerVersion,
    isPodman: BuildahVersion !== undefined,
    isRootless: isInVirtualMachine || isRootless,
    isRemapped: has('name=userns'),
    hasCgroups: hasCgroups(found, isRootless),
    hasSeccomp: has('name=seccomp'),
    folder: DockerRootDir,
    hasQuota: hasQuota(found, mounts()),
  }
}

/** In control groups of version 1, only root sets limits: Podman ignores them without. */
const hasCgroups = ({ CgroupVersion, CgroupDriver, MemoryLimit }: Info, isRootless: boolean): boolean =>
  CgroupDriver !== 'none' && MemoryLimit !== false && !(isRootless && CgroupVersion === '1')

/** Milliseconds for which an answer describes the engine: Podman finds the packages of its programs for each answer, in a third of a second of a processor. */
const recentMs = 60_000

export interface KnownTraits {
  /** As they were when the engine was first used. */
  readonly of: TraitsOf
  /** At most a minute old, of an engine that answers now. */
  readonly recent: TraitsOf
}

/** @param now monotonic milliseconds */
export function createKnownTraits(now: () => number = () => performance.now()): KnownTraits {
  const known = new Map<string, { readonly traits: EngineTraits; readonly at: number }>()
  const read: TraitsOf = async (api) => {
    const traits = traitsIn(await api.read('/info', answers.info))
    known.set(api.socketPath, { traits, at: now() })
    return traits
  }
  return {
    of: async (api) => known.get(api.socketPath)?.traits ?? read(api),
    async recent(api) {
      const found = known.get(api.socketPath)
      if (found === undefined || now() - found.at > recentMs) return read(api)
      await api.ping()
      return found.traits
    },
  }
}
