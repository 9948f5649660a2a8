/** An image as the API shows it. */
import type { ImageRecord } from '@selvedge/protocol'
import type { Deployments, StoredImage } from '../deployments/deployments.ts'
import { idOf } from '../deployments/ownership.ts'

export function recordOf(
  { contents, containers }: Deployments,
  key: string,
  image: StoredImage,
): ImageRecord {
  const { clientId, name, repoTags, digest, created } = image
  const { kind, size } = contents[digest]!
  const users = Object.values(containers).filter((each) => each.imageKey === key).length
  return {
    id: idOf(image),
    clientId,
    name,
    repoTags,
    digest,
    kind,
    size,
    created: Math.floor(created / 1000),
    containers: users,
  }
}
