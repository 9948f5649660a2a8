/** Images on the device: deploying, listing, removing, and making room. It knows nothing of what runs. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { type ImageRecord, RpcError, type UploadReceipt } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { blobsOf, type DeploymentStore, type StoredImage } from '../deployments/deployments.ts'
import { askedKey, idOf, isOwnedBy, keyOf, type Owner } from '../deployments/ownership.ts'
import { createTurns } from '../deployments/turns.ts'
import { admitImage } from './admit.ts'
import { type Packed, readArchive } from './archive.ts'
import type { Blobs } from './blobs.ts'
import { createBudget, measured } from './budget.ts'
import { createDiskGuard, type DiskGuard } from './disk.ts'
import { chooseName, expectNotOther, type Naming } from './image-name.ts'
import { recordOf } from './image-record.ts'
import { createPulls, type Pulls } from './pulls.ts'
import { pullImage } from './registry/registry.ts'
import { createStoredImages, ownBlobs, type StoredImages, type StoredImagesParts } from './stored-images.ts'
import { openUploads } from './uploads.ts'

export interface Images {
  /** Deploys from a path on the device, an upload handle, or a registry; under a name that the caller gives. @throws RpcError */
  deploy(owner: Owner, source: string, name?: string): Promise<ImageRecord>
  /**
   * Deploys an archive as it arrives.
   *
   * @param length bytes; 0 if it is unknown
   * @param naming is awaited when the archive has arrived
   * @throws RpcError
   */
  receive(
    owner: Owner,
    content: AsyncIterable<Uint8Array>,
    length?: number,
    naming?: Naming | Promise<Naming>,
  ): Promise<ImageRecord>
  list(owner: Owner): ImageRecord[]
  /** Images that are under way from registries. */
  pulls: Pulls['of']
  remove(owner: Owner, id: string): Promise<{ id: string }>
  /** To be called when containers have changed: content that only they used is removed. */
  sweep(): Promise<void>
  /** Stores an archive for a `deploy` of its handle by the same owner. @throws RpcError */
  upload(owner: Owner, content: AsyncIterable<Uint8Array>, length?: number): Promise<UploadReceipt>
  /** To be called when the associated account is another one: uploads of the former one are removed. */
  followAccount(): Promise<void>
}

export interface ImageParts extends StoredImagesParts {
  readonly folder: string
  readonly clock: Clock
  /** Bytes that stay free on the disk. */
  readonly reserve: number
  /** Maximum bytes of an archive, packed and unpacked. */
  readonly maxSize: number
  readonly authFile: string
  /** Called when a download from a registry begins, continues or ends. */
  readonly onPull: () => void
}

/** Maximum changes of the images that wait for each other. */
const maxQueue = 100
/** Archives that are read at the same time: the window of a compressed one is in memory while it arrives, however slowly. */
const maxReading = 8
/** Times its size that an archive needs on the disk while it is read: its layers, and what is taken out of them. */
const copies = 2

export async function openImages(parts: ImageParts): Promise<Images> {
  const { folder, blobs, store, clock, maxSize } = parts
  /** Store and document are changed by one call at a time. */
  const turns = createTurns(maxQueue)
  const exclusively = <T>(work: () => Promise<T>): Promise<T> => turns.take('the images', work)
  const stored = createStoredImages(parts)
  const uploads = await openUploads(join(folder, 'uploads'), blobs, clock)
  const bytes = stored.unusedBytes
  const guard = createDiskGuard(folder, parts.reserve, {
    bytes,
    removeOne: () => exclusively(stored.removeUnused),
  })
  const pulls = createPulls(parts.onPull)
  const pull = createPuller(parts, pulls, guard)
  const read = createArchiveReader(blobs, guard, maxSize)
  /** For callers that have the turn already. */
  const guardInTurn = createDiskGuard(folder, parts.reserve, { bytes, removeOne: stored.removeUnused })
  // Where the document was damaged, what it knew may come back from a backup.
  if (store.notices.length === 0) await blobs.keepOnly(blobsOf(store.value))

  async function admit(owner: Owner, packed: Packed, naming: Naming): Promise<ImageRecord> {
    return exclusively(async () => {
      const { name, isFromFile } = chooseName(naming, packed.repoTags)
      const key = keyOf(owner, name)
      const makeRoom = async () => {
        if (isFromFile) expectNotOther(name, store.value.images[key], packed.config.digest)
        await stored.makeRoomFor(key, owner)
      }
      await makeRoom().catch(async (cause) => {
        await blobs.discard(packed.drafts)
        throw cause
      })
      const content = await admitImage(blobs, packed, createBudget(maxSize), guardInTurn.claim).catch(
        async (cause) => {
          // What was stored of it before it failed.
          await stored.sweep()
          throw cause
        },
      )
      const digest = content.config.digest
      const now = clock.now()
      const image: StoredImage = {
        clientId: owner.client_id,
        accountId: owner.account_id,
        name,
        repoTags: [...packed.repoTags],
        digest,
        created: now,
        usedAt: now,
      }
      await stored.keep(key, image, content)
      return recordOf(store.value, key, image)
    })
  }

  async function fromArchive(
    owner: Owner,
    content: AsyncIterable<Uint8Array>,
    naming: Naming | Promise<Naming>,
  ): Promise<ImageRecord> {
    const packed = await read(content)
    const known = await Promise.resolve(naming).catch(async (cause) => {
      await blobs.discard(packed.drafts)
      throw cause
    })
    return admit(owner, packed, known)
  }

  async function fromFile(owner: Owner, path: string, naming: Naming): Promise<ImageRecord> {
    const found = await stat(path).catch(() => undefined)
    if (!found?.isFile())
      throw new RpcError('not_found', `there is no file ${JSON.stringify(path)} on this device`)
    await guard.claim(found.size * copies)
    return fromArchive(owner, createReadStream(path), naming)
  }

  return {
    async upload(owner, content, length = 0) {
      await guard.claim(length)
      const take = createBudget(maxSize)
      return uploads.receive(owner, measured(guard.watch(content), take))
    },
    async deploy(owner, source, given) {
      if (source.startsWith('upload:')) {
        const naming = { given, file: source.slice(7, 19) }
        const deployed = await fromFile(owner, uploads.pathOf(owner, source), naming)
        await uploads.forget(owner, source)
        return deployed
      }
      if (isAbsolute(source)) return fromFile(owner, source, { given, file: source })
      return admit(owner, await pull(owner, source), { given })
    },
    async receive(owner, content, length = 0, naming = {}) {
      await guard.claim(length * copies)
      return fromArchive(owner, content, naming)
    },
    pulls: pulls.of,
    list: (owner) =>
      Object.entries(store.value.images)
        .filter(([, image]) => isOwnedBy(image, owner))
        .map(([key, image]) => recordOf(store.value, key, image)),
    sweep: () => exclusively(stored.sweep),
    followAccount: () => uploads.keepOnly(parts.accountId()),
    remove: (owner, id) => exclusively(() => removeImage(store, stored, owner, id)),
  }
}

/** Reads images of registries. Layers that the owner has deployed before are not downloaded again. */
const createPuller =
  ({ blobs, store, authFile, maxSize }: ImageParts, pulls: Pulls, guard: DiskGuard) =>
  (owner: Owner, source: string): Promise<Packed> => {
    const own = ownBlobs(store.value, owner)
    const mayReuse = (digest: string) => own.has(digest)
    return pulls.follow(owner, source, guard, (counted) =>
      pullImage(blobs, source, { ...counted, authFile, maxSize, mayReuse }),
    )
  }

/** Reads archives, some at the same time. Frames to be skipped unpack to nothing: the packed bytes are counted as well. */
function createArchiveReader(blobs: Blobs, { watch }: Pick<DiskGuard, 'watch'>, maxSize: number) {
  let reading = 0
  return async (content: AsyncIterable<Uint8Array>): Promise<Packed> => {
    if (reading >= maxReading)
      throw new RpcError('busy', `${reading} archives are read at present; the limit is ${maxReading}`)
    reading++
    try {
      return await readArchive(blobs, measured(watch(content), createBudget(maxSize)), createBudget(maxSize))
    } finally {
      reading--
    }
  }
}

async function removeImage(
  store: DeploymentStore,
  stored: StoredImages,
  owner: Owner,
  id: string,
): Promise<{ id: string }> {
  const { images, containers } = store.value
  const key = askedKey(owner, id)
  const image = images[key]
  if (!image) throw new RpcError('not_found', `there is no image ${JSON.stringify(id)}`)
  const users = Object.values(containers).filter((each) => each.imageKey === key)
  if (users.length > 0)
    throw new RpcError('in_use', `image ${idOf(image)} is used by ${users.map(idOf).join(', ')}`)
  await stored.drop(key)
  return { id: idOf(image) }
}
