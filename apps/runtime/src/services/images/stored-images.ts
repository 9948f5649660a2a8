/** The images of the document: stores, removes and collects them, and removes content that nothing needs from the disk. */
import { RpcError } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { inBackground } from '@selvedge/service-kit/safely'
import { type ContentInUse, createContentInUse } from '../deployments/content-in-use.ts'
import {
  blobsOf,
  type Content,
  type DeploymentStore,
  type Deployments,
  type StoredImage,
  without,
  withoutUnused,
} from '../deployments/deployments.ts'
import { isOwnedBy, keyOf, type Owner } from '../deployments/ownership.ts'
import type { Blobs } from './blobs.ts'
import { evictableFor, type Unused } from './evictable.ts'
import { contentsOf, type FormerContents, unusedReleases } from './former-contents.ts'
import { maxImages } from './limits.ts'

/** Each method that changes the document is called by one caller at a time. */
export interface StoredImages {
  /** Stores an image in the document. @throws RpcError `wrong_account` if the account left meanwhile */
  keep(key: string, stored: StoredImage, content: Content): Promise<void>
  drop(key: string): Promise<void>
  /** Removes what the document does not need any more, from the disk and from the engines. */
  sweep(): Promise<void>
  /**
   * Removes images that nothing uses until one more fits. @throws RpcError `limit_exceeded` if the owner may remove no image
   */
  makeRoomFor(key: string, owner: Owner): Promise<void>
  /** Images that neither a container nor work under way uses. */
  unused(): UnusedImage[]
  /** Removes an image if it is still unused. */
  dropUnused(image: UnusedImage): Promise<void>
  /** Former releases with content that nothing else needs. */
  unusedReleases(): ReturnType<typeof unusedReleases>
  /** Removes a former release, and its content if that is still unused. */
  dropRelease: FormerContents['drop']
  /** Does work with content, which stays on the disk until the work is complete: its image may be replaced or removed meanwhile. */
  hold: ContentInUse['hold']
}

interface UnusedImage extends Unused {
  readonly key: string
  readonly image: StoredImage
}

export interface StoredImagesParts {
  readonly store: DeploymentStore
  /** Content of the images. */
  readonly blobs: Blobs
  /** The associated account, or "". */
  readonly accountId: () => string
  /** Called with content that is not needed any more, so that the engines drop their copies. */
  readonly onRemoved: (digest: string, kind: Content['kind']) => void
  readonly clock: Clock
  /** Content that services may go back to. */
  readonly former: FormerContents
}

/** @param exclusively does work when no other change of the images is under way */
export function createStoredImages(
  parts: StoredImagesParts,
  exclusively: (work: () => Promise<void>) => Promise<void>,
): StoredImages {
  const { store, blobs, clock, former } = parts
  let known = { ...contentsOf(former.all()), ...store.value.contents }
  const inUse = createContentInUse((released) => {
    const isLeft = released.some(({ config }) => !store.value.contents[config.digest])
    if (isLeft) inBackground('images.sweep', exclusively(sweep))
  })
  const unused = () => unusedIn(store.value, inUse.all())

  async function sweep(): Promise<void> {
    const needed = { ...contentsOf(former.all()), ...inUse.all(), ...store.value.contents }
    for (const [digest, { kind }] of Object.entries(known)) if (!needed[digest]) parts.onRemoved(digest, kind)
    known = needed
    await blobs.keepOnly(blobsOf({ contents: needed }))
  }

  async function keep(key: string, stored: StoredImage, content: Content): Promise<void> {
    try {
      await store.update((value) => {
        // The account may have left while the image came.
        if (stored.accountId !== parts.accountId())
          throw new RpcError(
            'wrong_account',
            'this runtime is not associated with the account of the token any more',
          )
        return withoutUnused({
          ...value,
          contents: { ...value.contents, [stored.digest]: content },
          images: { ...value.images, [key]: stored },
        })
      })
    } finally {
      await sweep()
    }
  }

  async function drop(key: string): Promise<void> {
    await store.update((value) => withoutUnused({ ...value, images: without(value.images, key) }))
    await sweep()
  }

  async function dropUnused({ key, image }: UnusedImage): Promise<void> {
    if (unused().some((each) => each.key === key && each.image.digest === image.digest)) await drop(key)
  }

  async function makeRoomFor(key: string, owner: Owner): Promise<void> {
    if (store.value.images[key]) return
    for (let full = findFull(store.value, owner); full; full = findFull(store.value, owner)) {
      const { limit, counts } = full
      const counted = unused().filter(({ image }) => counts(image))
      const [oldest] = evictableFor(keyOf(owner, ''), counted, clock.now(), Number.POSITIVE_INFINITY)
      if (!oldest)
        throw new RpcError(
          'limit_exceeded',
          `there are ${limit}, which containers use or other projects deployed within the last day`,
          { hint: 'Remove a container and its image.' },
        )
      await drop(oldest.key)
    }
  }

  return {
    ...{ keep, drop, sweep, makeRoomFor, unused, dropUnused, hold: inUse.hold },
    unusedReleases: () => unusedReleases(former.all(), { ...inUse.all(), ...store.value.contents }),
    async dropRelease(release) {
      await former.drop(release)
      await sweep()
    },
  }
}

/** Images that neither a container nor work under way uses. @param inUse content of work under way, by digest */
function unusedIn(
  { images, containers, contents }: Deployments,
  inUse: Readonly<Record<string, Content>>,
): UnusedImage[] {
  const used = new Set([
    ...Object.values(containers).flatMap(({ imageKey, digest }) => [imageKey, digest]),
    ...Object.keys(inUse),
  ])
  const found = Object.entries(images).filter(([key, { digest }]) => !used.has(key) && !used.has(digest))
  // Of images with the same content, the removal of the last one frees it.
  const last = new Map(
    found.sort(([, one], [, other]) => one.usedAt - other.usedAt).map(([key, { digest }]) => [digest, key]),
  )
  return found.map(([key, image]) => ({
    key,
    image,
    owner: keyOf({ account_id: image.accountId, client_id: image.clientId }, ''),
    bytes: last.get(image.digest) === key ? contents[image.digest]!.size : 0,
    usedAt: image.usedAt,
  }))
}

/** A limit of images that is reached for an owner, and the images that count for it. */
function findFull(
  { images }: Deployments,
  owner: Owner,
): { limit: string; counts: (image: StoredImage) => boolean } | undefined {
  const isOfAccount = ({ accountId }: StoredImage) => accountId === owner.account_id
  const isOwn = (image: StoredImage) => isOwnedBy(image, owner)
  const all = Object.values(images)
  if (all.filter(isOwn).length >= maxImages.ofProject)
    return { limit: `${maxImages.ofProject} images of the project`, counts: isOwn }
  if (all.filter(isOfAccount).length >= maxImages.ofAccount)
    return { limit: `${maxImages.ofAccount} images of the account`, counts: isOfAccount }
  if (all.length < maxImages.onDevice) return undefined
  return { limit: `${maxImages.onDevice} images on the device`, counts: () => true }
}

/** Digests of what an owner deployed, which a pull may use again: a caller who only knows a digest has no right to the content. */
export function ownBlobs({ images, containers, contents }: Deployments, owner: Owner): Set<string> {
  const owned = [...Object.values(images), ...Object.values(containers)].filter((each) =>
    isOwnedBy(each, owner),
  )
  return blobsOf({ contents: Object.fromEntries(owned.map(({ digest }) => [digest, contents[digest]!])) })
}
