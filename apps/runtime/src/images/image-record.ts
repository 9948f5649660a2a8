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

/** The last part of a repository without its tag, as the API family names images. */
export function nameOf(tag: string): string {
  const [name = ''] = tag.split('/').at(-1)!.split(/[:@]/, 1)
  const clean = name
    .toLowerCase()
    .replace(/[^a-z0-9._-]/g, '-')
    .replace(/^[^a-z0-9]+/, '')
  return clean === '' ? 'image' : clean.slice(0, 120)
}
