/** What an engine is and can do. It is asked once: some take most of a second to answer. */
import * as answers from './answers.ts'
import type { EngineApi } from './engine-api.ts'

export interface EngineTraits {
  readonly version: string | undefined
  readonly isPodman: boolean
  /** It runs as a user of the device, in a user namespace of that user. */
  readonly isRootless: boolean
  /** All its containers are in one user namespace (`userns-remap` of Docker). */
  readonly isRemapped: boolean
  /** Containers get its default seccomp profile. */
  readonly hasSeccomp: boolean
}

export type TraitsOf = (api: EngineApi) => Promise<EngineTraits>

export async function readTraits(api: EngineApi): Promise<EngineTraits> {
  const { ServerVersion, SecurityOptions, BuildahVersion } = await api.read('/info', answers.info)
  const has = (name: string) => SecurityOptions?.some((each) => each.includes(name)) ?? false
  return {
    version: ServerVersion,
    isPodman: BuildahVersion !== undefined,
    isRootless: has('rootless'),
    isRemapped: has('name=userns'),
    hasSeccomp: has('name=seccomp'),
  }
}

export function createTraitsOf(): TraitsOf {
  const known = new Map<string, EngineTraits>()
  return async (api) => {
    const traits = known.get(api.socketPath) ?? (await readTraits(api))
    known.set(api.socketPath, traits)
    return traits
  }
}
