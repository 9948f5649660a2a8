import type { ContainerRecord, ContainerState } from '@selvedge/protocol'
import { isoTime } from '@selvedge/service-kit/clock'
import type { Content, StoredContainer } from '../deployments/deployments.ts'
import { basePathOf, shownEnv } from './paths.ts'
import type { Service } from './service.ts'

/** What the API tells of a container. */
export async function recordOf(
  id: string,
  container: StoredContainer,
  { kind, entry }: Content,
  state: ContainerState,
  service: Service | undefined,
): Promise<ContainerRecord> {
  const { clientId, name, image, imageId, created, restarts, failed, note } = container
  const running = service?.running()
  return {
    id,
    clientId,
    name,
    image,
    imageId,
    env: shownEnv(container, entry?.language),
    created,
    state,
    kind,
    basePath: basePathOf(container),
    health: service?.health() ?? 'unknown',
    reason: failed ?? note,
    restarts,
    startedAt: running ? isoTime(running.since) : null,
    memory: (await running?.instance.memory()) ?? null,
    isolation: [...(service?.isolation() ?? [])],
  }
}
