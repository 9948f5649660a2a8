/** A stack with a runtime that has a Podman of its own. */
import { type Podman, startPodman } from './podman.ts'
import type { StartPlace } from './processes.ts'
import { type Services, startServices } from './services.ts'

export interface PodmanServices {
  readonly podman: Podman
  readonly services: Services
  /** Removes the containers of the runtime. @throws if one of them has left a volume in the engine */
  removeContainers(): Promise<void>
  stop(): Promise<void>
}

/** @param args more arguments of the runtime @param place where that runs */
export async function startPodmanServices(
  args: readonly string[] = [],
  place: StartPlace = {},
): Promise<PodmanServices> {
  const podman = await startPodman()
  const services = await startServices({ args: [`--oci.socket=${podman.socket}`, ...args], place })
  return {
    podman,
    services,
    async removeContainers() {
      const edgeAccessToken = services.token
      for (const { id } of await services.runtime().getContainers({ edgeAccessToken }))
        await services.runtime().removeContainer({ edgeAccessToken, id })
      const left = await podman.volumes()
      if (left.length > 0) throw new Error(`containers have left volumes: ${left.join(', ')}`)
    },
    async stop() {
      await services.stop()
      await podman.stop()
    },
  }
}
