/** Makes the volumes of a container in the engine. */
import { RpcError } from '@selvedge/protocol'
import * as answers from './answers.ts'
import { labels, usersLabels } from './create-body.ts'
import type { EngineApi } from './engine-api.ts'
import type { Users } from './profile.ts'
import type { Volumes } from './volumes.ts'

/**
 * Those that are there stay as they are. A name has 48 bits of a hash of its data, so that another project may find a name of its own with the same
 * ones: the label of the volume decides to which data it belongs.
 *
 * @param users of the container, for new volumes
 * @throws EngineError; RpcError `container_failed` for a volume of other data
 */
export async function createVolumes(
  api: Pick<EngineApi, 'ask'>,
  { named, ofImage }: Volumes,
  owner: string,
  users: Users,
): Promise<void> {
  for (const { name, dataKey, target } of [...named, ...ofImage]) {
    const ofData = { [labels.owner]: owner, [labels.container]: dataKey }
    const body = { Name: name, Labels: { ...ofData, ...usersLabels(users) } }
    const { Labels } = await api.ask('/volumes/create', body, answers.volume)
    const found = Labels[labels.container]
    if (found === undefined || found === dataKey) continue
    throw new RpcError(
      'container_failed',
      `the volume for ${target} has the name of a volume of another container (${name})`,
      { hint: 'Deploy the container, or its app, under another name.' },
    )
  }
}
