import type { ContainerRecord, ContainerState, ContainerStatus, EndReason } from '@selvedge/protocol'
import { isoTime } from '@selvedge/service-kit/clock'
import type { Completion } from '../apps/stored-apps.ts'
import type { Content, StoredContainer } from '../deployments/deployments.ts'
import { idOf } from '../deployments/ownership.ts'
import { basePathOf, shownEnv } from './paths.ts'
import type { Service } from './service.ts'

/**
 * The state of a container, one of the table in `protocol/mcm/states.ts`.
 *
 * @param service false if it may not run
 */
export function stateFrom(
  { failed }: StoredContainer,
  service: Service | false,
  completion: Completion | undefined,
): ContainerState {
  if (failed !== null) return 'failed'
  if (completion) return 'completed'
  if (!service) return 'stopped'
  if (service.running()) return 'running'
  return service.startsItself() ? 'starting' : 'paused'
}

/** A container as its events show it: what costs nothing to find out. */
export function statusOf(
  container: StoredContainer,
  { kind }: Content,
  state: ContainerState,
  service: Service | undefined,
): ContainerStatus {
  const { name, image, restarts, failed, note } = container
  const running = service?.running()
  return {
    id: idOf(container),
    name,
    image,
    kind,
    state,
    health: service?.health() ?? 'unknown',
    reason: failed ?? note,
    restarts,
    startedAt: running ? isoTime(running.since) : null,
  }
}

/** A container as the API shows it. */
export async function recordOf(
  container: StoredContainer,
  content: Content,
  state: ContainerState,
  service: Service | undefined,
  completion: Completion | undefined,
): Promise<ContainerRecord> {
  const { clientId, image, created } = container
  const running = service?.running()
  return {
    ...statusOf(container, content, state, service),
    clientId,
    imageId: idOf({ clientId, name: image }),
    env: shownEnv(container, content.entry?.language),
    created,
    basePath: basePathOf(container),
    memory: (await running?.instance.memory()) ?? null,
    isolation: [...(service?.isolation() ?? [])],
    ...(completion && { completed: { exitCode: completion.exitCode, at: isoTime(completion.at) } }),
  }
}

/** A container for the registry: with the state that the API showed at the time of the last statement. */
export interface ServiceSummary {
  readonly id: string
  readonly name: string
  readonly image: string
  readonly state: ContainerState
  readonly restarts: number
  /** Why it last exited or did not start, since it was requested. */
  readonly lastEnd: EndReason | undefined
}

export const summaryOf = (
  container: StoredContainer,
  state: ContainerState,
  service: Service | undefined,
): ServiceSummary => ({
  id: idOf(container),
  name: container.name,
  image: container.image,
  state,
  restarts: container.restarts,
  lastEnd: service?.lastEnd(),
})
