/** What must be there before a container is deployed. */
import { RpcError } from '@selvedge/protocol'
import type { Deployments, StoredContainer } from '../deployments/deployments.ts'
import { prefixesOf } from './paths.ts'

/**
 * An image of a project, by its id or by its name, with or without a tag.
 *
 * @throws RpcError `not_found`, in the words that clients of this API family look for
 */
export function findImage(
  { images }: Deployments,
  clientId: string,
  name: string,
): Pick<StoredContainer, 'image' | 'imageId' | 'digest'> {
  const short = name.replace(/:[^/:]*$/, '')
  const imageId = [name, `${clientId}-${name}`, `${clientId}-${short}`].find(
    (each) => images[each]?.clientId === clientId,
  )
  if (imageId !== undefined) return { imageId, image: images[imageId]!.name, digest: images[imageId]!.digest }
  const known = Object.values(images).filter((each) => each.clientId === clientId)
  throw new RpcError('not_found', `cannot find image with name ${JSON.stringify(name)}`, {
    hint:
      known.length > 0
        ? `Deployed are: ${known.map((each) => each.name).join(', ')}.`
        : 'Deploy it first, with deployImage.',
  })
}

/** Containers of a device: what it is to run is one document, which is written whole with each change. */
const maxContainers = 200

/** @throws RpcError `limit_exceeded` if there is no room for another container */
export function expectRoom({ containers }: Deployments, id: string): void {
  const count = Object.keys(containers).length
  if (Object.hasOwn(containers, id) || count < maxContainers) return
  throw new RpcError('limit_exceeded', `the runtime has ${count} containers; the limit is ${maxContainers}`, {
    hint: 'Remove one that is not needed, with removeContainer.',
  })
}

/** @throws RpcError `conflict` where another container answers at one of its paths */
export function expectFreePaths({ containers }: Deployments, id: string, container: StoredContainer): void {
  const wanted = prefixesOf(container)
  for (const [other, each] of Object.entries(containers)) {
    const taken = other === id ? undefined : prefixesOf(each).find((prefix) => wanted.includes(prefix))
    if (taken === undefined) continue
    throw new RpcError('conflict', `the path ${taken} is taken by ${other}`, {
      hint: 'Choose another MCM.BASE_API_PATH.',
    })
  }
}
