/** The service that a user names: a container of the token's client. */
import type { ContainerRecord } from '@selvedge/protocol'
import { UsageError } from '../failure.ts'
import type { Context } from './context.ts'
import { noContainer } from './service-access.ts'

/**
 * @param id id or name of the container
 * @throws UsageError if it does not exist, or its path is not one of the runtime
 */
export async function findContainer(
  { runtime }: Context,
  edgeAccessToken: string,
  id: string,
): Promise<ContainerRecord> {
  const all = await runtime.getContainers({ edgeAccessToken })
  const found = all.find((each) => each.id === id) ?? all.find((each) => each.name === id)
  if (!found) throw noContainer(id, edgeAccessToken)
  // The token is sent to this path: it must not be able to name another host.
  if (/^\/[\w.~/-]+$/.test(found.basePath)) return found
  throw new UsageError(
    `the runtime states the path ${JSON.stringify(found.basePath)} for ${id}`,
    'Check the runtime.',
  )
}
