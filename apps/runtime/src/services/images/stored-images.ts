/** The images of the document: stores, removes and collects them, and removes content that nothing needs from the disk. */
import { RpcError } from '@selvedge/protocol'
import {
  blobsOf,
  type Content,
  type DeploymentStore,
  type Deployments,
  type StoredImage,
  without,
  withoutUnused,
} from '../deployments/deployments.ts'
import { isOwnedBy, type Owner, ofAccount } from '../deployments/ownership.ts'
import type { Blobs } from './blobs.ts'

/** Images of an account, and of a device with those that former accounts left. */
const maxImages = 200
const maxOnDevice = 1000

/** Each method that changes the document is called by one caller at a time. */
export interface StoredImages {
  /** Stores an image in the document. @throws RpcError `wrong_account` if the account left meanwhile */
  keep(key: string, stored: StoredImage, content: Content): Promise<void>
  drop(key: string): Promise<void>
  /** Removes what the document does not need any more, from the disk and from the engines. */
  sweep(): Promise<void>
  /** Removes images that no container uses until one more fits. @throws RpcError `limit_exceeded` if all are used */
  makeRoomFor(key: string, owner: Owner): Promise<void>
  /** Bytes of the images that no container uses. */
  unusedBytes(): number
  /** Removes the image that is unused the longest. @returns false if containers use all images */
  removeUnused(): Promise<boolean>
}

export interface StoredImagesParts {
  readonly store: DeploymentStore
  /** Content of the images. */
  readonly blobs: Blobs
  /** The associated account, or "". */
  readonly accountId: () => string
  /** Called with content that is not needed any more, so that the engines drop their copies. */
  readonly onRemoved: (digest: string, kind: Content['kind']) => void
}

export function createStoredImages(parts: StoredImagesParts): StoredImages {
  const { store, blobs } = parts
  let known = store.value.contents

  /** Removes what the document does not need any more, from the disk and from the engines. */
  async function sweep(): Promise<void> {
    const { contents } = store.value
    for (const [digest, { kind }] of Object.entries(known))
      if (!contents[digest]) parts.onRemoved(digest, kind)
    known = contents
    await blobs.keepOnly(blobsOf(store.value))
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

  /** Images that no container uses, the least recently used first (LRU). */
  function unusedImages(): [key: string, image: StoredImage][] {
    const { images, containers } = store.value
    const used = new Set(Object.values(containers).flatMap(({ imageKey, digest }) => [imageKey, digest]))
    return Object.entries(images)
      .filter(([key, { digest }]) => !used.has(key) && !used.has(digest))
      .sort(([, a], [, b]) => a.usedAt - b.usedAt)
  }

  function unusedBytes(): number {
    const digests = new Set(unusedImages().map(([, { digest }]) => digest))
    return [...digests].reduce((sum, digest) => sum + store.value.contents[digest]!.size, 0)
  }

  /** The rule by which images are collected: only when room is needed, and only those that no container uses. */
  async function removeUnused(isMeant: (image: StoredImage) => boolean = () => true): Promise<boolean> {
    const oldest = unusedImages().find(([, image]) => isMeant(image))
    if (!oldest) return false
    await drop(oldest[0])
    return true
  }

  /** A new image replaces the one that is unused the longest. @throws RpcError `limit_exceeded` if all are used */
  async function makeRoomFor(key: string, { account_id }: Owner): Promise<void> {
    const isOwn = ({ accountId }: StoredImage) => accountId === account_id
    const isFull = () => ofAccount(store.value.images, account_id).length >= maxImages
    const isDeviceFull = () => Object.keys(store.value.images).length >= maxOnDevice
    while (!store.value.images[key] && (isFull() || isDeviceFull())) {
      if (await removeUnused(isFull() ? isOwn : undefined)) continue
      throw new RpcError(
        'limit_exceeded',
        `there are ${maxImages} images of the account, which containers use`,
        {
          hint: 'Remove a container and its image.',
        },
      )
    }
  }

  return { keep, drop, sweep, makeRoomFor, unusedBytes, removeUnused: () => removeUnused() }
}

/** Digests of what an owner deployed, which a pull may use again: a caller who only knows a digest has no right to the content. */
export function ownBlobs({ images, containers, contents }: Deployments, owner: Owner): Set<string> {
  const owned = [...Object.values(images), ...Object.values(containers)].filter((each) =>
    isOwnedBy(each, owner),
  )
  return blobsOf({ contents: Object.fromEntries(owned.map(({ digest }) => [digest, contents[digest]!])) })
}
