/** Images on the device: deploying, listing, removing, and making room. It knows nothing of what runs. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { type ImageRecord, RpcError, type UploadReceipt } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import {
  blobsOf,
  type Content,
  type DeploymentStore,
  type StoredImage,
  without,
  withoutUnused,
} from '../deployments/deployments.ts'
import { askedKey, idOf, isOwnedBy, keyOf, type Owner, ofAccount } from '../deployments/ownership.ts'
import { createTurns } from '../deployments/turns.ts'
import { admitImage } from './admit.ts'
import { type Packed, readArchive } from './archive.ts'
import type { Blobs } from './blobs.ts'
import { createDiskGuard } from './disk.ts'
import { pullImage } from './registry/registry.ts'
import { openUploads } from './uploads.ts'

export interface Images {
  /** Deploys from a path on the device, an upload handle, or a registry. @throws RpcError */
  deploy(owner: Owner, source: string): Promise<ImageRecord>
  /** Deploys an archive as it arrives; `length` in bytes where it is known. @throws RpcError */
  receive(owner: Owner, content: AsyncIterable<Uint8Array>, length?: number): Promise<ImageRecord>
  list(owner: Owner): ImageRecord[]
  remove(owner: Owner, id: string): Promise<{ id: string }>
  /** To be called when containers have changed: content that only they used is removed. */
  sweep(): Promise<void>
  /** Stores an archive for a `deploy` of its handle by the same owner. @throws RpcError */
  upload(owner: Owner, content: AsyncIterable<Uint8Array>, length?: number): Promise<UploadReceipt>
  /** To be called when the associated account is another one: uploads of the former one are removed. */
  followAccount(): Promise<void>
}

export interface ImageParts {
  readonly folder: string
  /** Of the same folder. */
  readonly blobs: Blobs
  readonly store: DeploymentStore
  readonly clock: Clock
  /** Bytes that stay free on the disk. */
  readonly reserve: number
  /** Maximum bytes of an archive, packed and unpacked. */
  readonly maxSize: number
  readonly authFile: string
  /** The associated account, or "". */
  readonly accountId: () => string
  /** Called with content that is not needed any more, so that the engines drop their copies. */
  readonly onRemoved: (digest: string, kind: Content['kind']) => void
}

/** Images of an account, and of a device with those that former accounts left. */
const maxImages = 200
const maxOnDevice = 1000
/** Maximum changes of the images that wait for each other. */
const maxQueue = 100
/** What an archive needs on the disk while it is looked through: its layers, and what is taken out of them. */
const copies = 2

export async function openImages(parts: ImageParts): Promise<Images> {
  const { folder, blobs, store, clock, maxSize } = parts
  /** What is in the store and what the document says are changed by one at a time. */
  const turns = createTurns(maxQueue)
  const exclusively = <T>(work: () => Promise<T>): Promise<T> => turns.take('the images', work)
  /** The image that is unused the longest goes for a new one. @throws RpcError `limit_exceeded` if all are used */
  async function makeRoomFor(key: string, { account_id }: Owner, { drafts }: Packed): Promise<void> {
    const isOwn = ({ accountId }: StoredImage) => accountId === account_id
    const isFull = () => ofAccount(store.value.images, account_id).length >= maxImages
    const isDeviceFull = () => Object.keys(store.value.images).length >= maxOnDevice
    while (!store.value.images[key] && (isFull() || isDeviceFull())) {
      if (await removeUnused(isFull() ? isOwn : undefined)) continue
      await blobs.discard(drafts)
      throw new RpcError(
        'limit_exceeded',
        `there are ${maxImages} images of the account, which containers use`,
        {
          hint: 'Remove a container and its image.',
        },
      )
    }
  }

  let known = store.value.contents
  const uploads = await openUploads(join(folder, 'uploads'), blobs, clock)
  const guard = createDiskGuard(folder, parts.reserve, {
    bytes: unusedBytes,
    removeOne: () => exclusively(() => removeUnused()),
  })
  /** For who has the turn already. */
  const guardInTurn = createDiskGuard(folder, parts.reserve, {
    bytes: unusedBytes,
    removeOne: () => removeUnused(),
  })
  // Where the document was damaged, what it knew may come back from a backup.
  if (store.notices.length === 0) await blobs.keepOnly(blobsOf(store.value))

  function record(key: string, image: StoredImage): ImageRecord {
    const { clientId, name, repoTags, digest, created } = image
    const { contents, containers } = store.value
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

  function budget(): (bytes: number) => void {
    let left = maxSize
    return (bytes) => {
      left -= bytes
      if (left < 0)
        throw new RpcError(
          'invalid_image',
          `the image unpacks to more than ${maxSize} bytes (images.maxSize)`,
        )
    }
  }

  async function admit(owner: Owner, packed: Packed, fallbackName: string): Promise<ImageRecord> {
    return exclusively(async () => {
      const name = nameOf(packed.repoTags[0] ?? fallbackName)
      const key = keyOf(owner, name)
      await makeRoomFor(key, owner, packed)
      const content = await admitImage(blobs, packed, budget(), guardInTurn.claim).catch(async (cause) => {
        // What was stored of it before it failed.
        await sweep()
        throw cause
      })
      const digest = content.config.digest
      const now = clock.now()
      const stored: StoredImage = {
        clientId: owner.client_id,
        accountId: owner.account_id,
        name,
        repoTags: [...packed.repoTags],
        digest,
        created: now,
        usedAt: now,
      }
      await keep(key, stored, content)
      return record(key, stored)
    })
  }

  /** Digests of what an owner deployed, which a pull may use again: a caller who only knows a digest has no right to the content. */
  function ownBlobs(owner: Owner): Set<string> {
    const { images, containers, contents } = store.value
    const owned = [...Object.values(images), ...Object.values(containers)].filter((each) =>
      isOwnedBy(each, owner),
    )
    return blobsOf({ contents: Object.fromEntries(owned.map(({ digest }) => [digest, contents[digest]!])) })
  }

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

  /** Images that no container uses, the longest unused first. */
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

  /** The rule by which images are collected: only when room is needed, and none that a container uses. */
  async function removeUnused(isMeant: (image: StoredImage) => boolean = () => true): Promise<boolean> {
    const oldest = unusedImages().find(([, image]) => isMeant(image))
    if (!oldest) return false
    await drop(oldest[0])
    return true
  }

  async function fromArchive(
    owner: Owner,
    content: AsyncIterable<Uint8Array>,
    name: string,
  ): Promise<ImageRecord> {
    return admit(owner, await readArchive(blobs, guard.watch(content), budget()), name)
  }

  async function fromFile(owner: Owner, path: string, name: string): Promise<ImageRecord> {
    const found = await stat(path).catch(() => undefined)
    if (!found?.isFile())
      throw new RpcError('not_found', `there is no file ${JSON.stringify(path)} on this device`)
    await guard.claim(found.size * copies)
    return fromArchive(owner, createReadStream(path), name)
  }

  return {
    async upload(owner, content, length = 0) {
      await guard.claim(length)
      const take = budget()
      return uploads.receive(owner, measured(guard.watch(content), take))
    },
    async deploy(owner, source) {
      if (source.startsWith('upload:')) {
        const deployed = await fromFile(owner, uploads.pathOf(owner, source), source.slice(7, 19))
        await uploads.forget(owner, source)
        return deployed
      }
      if (isAbsolute(source))
        return fromFile(
          owner,
          source,
          source
            .split('/')
            .at(-1)!
            .replace(/\.(tar|tgz|gz)+$/, ''),
        )
      const { claim, watch } = guard
      const own = ownBlobs(owner)
      const mayReuse = (digest: string) => own.has(digest)
      const { authFile } = parts
      const packed = await pullImage(blobs, source, { authFile, claim, watch, maxSize, mayReuse })
      return admit(owner, packed, source)
    },
    async receive(owner, content, length = 0) {
      await guard.claim(length * copies)
      return fromArchive(owner, content, 'image')
    },
    list: (owner) =>
      Object.entries(store.value.images)
        .filter(([, image]) => isOwnedBy(image, owner))
        .map(([key, image]) => record(key, image)),
    sweep: () => exclusively(sweep),
    followAccount: () => uploads.keepOnly(parts.accountId()),
    remove: async (owner, id) =>
      exclusively(async () => {
        const key = askedKey(owner, id)
        const image = store.value.images[key]
        if (!image) throw new RpcError('not_found', `there is no image ${JSON.stringify(id)}`)
        const users = Object.values(store.value.containers).filter((each) => each.imageKey === key)
        if (users.length > 0)
          throw new RpcError('in_use', `image ${idOf(image)} is used by ${users.map(idOf).join(', ')}`)
        await drop(key)
        return { id: idOf(image) }
      }),
  }
}

/** The same chunks; the callback gets each one before it is passed on. */
async function* measured(
  content: AsyncIterable<Uint8Array>,
  take: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    take(chunk.length)
    yield chunk
  }
}

/** The last part of a repository without its tag, as the API family names images. */
function nameOf(tag: string): string {
  const [name = ''] = tag.split('/').at(-1)!.split(/[:@]/, 1)
  const clean = name
    .toLowerCase()
    .replace(/[^a-z0-9._-]/g, '-')
    .replace(/^[^a-z0-9]+/, '')
  return clean === '' ? 'image' : clean.slice(0, 120)
}
