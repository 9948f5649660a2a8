/** Images on the device: deploying, listing, removing, and making room. It knows nothing of what runs. */
import { realpath } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { type ImageRecord, RpcError, type UploadReceipt } from '@selvedge/protocol'
import { blobsOf, type DeploymentStore } from '../deployments/deployments.ts'
import { createOwnerShare } from '../deployments/owner-share.ts'
import { askedKey, idOf, isOwnedBy, keyOf, type Owner } from '../deployments/ownership.ts'
import { createTurns } from '../turns.ts'
import { arriving, expectSize } from './arriving.ts'
import { createBudget, measured } from './budget.ts'
import { createDeployer } from './deployer.ts'
import { createDiskGuard, type DiskGuard } from './disk.ts'
import { createDownloads, type Downloads } from './downloads.ts'
import { evictableFor } from './evictable.ts'
import { contentsOf } from './former-contents.ts'
import type { Naming } from './image-name.ts'
import { recordOf } from './image-record.ts'
import { shares } from './limits.ts'
import { openPartials, type Partials } from './partials.ts'
import { createPulls, type Pulls } from './pulls.ts'
import type { Allowance } from './registry/allowed.ts'
import type { SourceOptions } from './registry/sources.ts'
import { type DeployHow, openRegistryPulls } from './registry-pulls.ts'
import { createStoredImages, type StoredImages, type StoredImagesParts } from './stored-images.ts'
import { openUploads, type Uploads } from './uploads.ts'
import { createWhileWanted, type WatchWanted, type WhileWanted } from './wanted.ts'

export interface Images {
  /** Deploys from a path on the device, an upload handle, or a registry; under a name that the caller gives. @throws RpcError */
  deploy(owner: Owner, source: string, how?: DeployHow): Promise<ImageRecord>
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
  /** How an image arrived from its registry, if that was difficult. @param key of the image */
  describeDownload: Downloads['describe']
  remove(owner: Owner, id: string): Promise<{ id: string }>
  /** To be called once, when the runtime starts: downloads that the last stop interrupted continue. */
  continuePulls(): void
  /** To be called when containers have changed: content that only they used is removed. */
  sweep(): Promise<void>
  /** Does work with content, which stays on the disk until the work is complete. */
  hold: StoredImages['hold']
  /** Stores an archive for a `deploy` of its handle by the same owner. @throws RpcError */
  upload(owner: Owner, content: AsyncIterable<Uint8Array>, length?: number): Promise<UploadReceipt>
  /** Archives that arrive in parts, for a `deploy` of their handle. */
  readonly uploads: Pick<Uploads, 'stateOf' | 'remove'> & {
    /** Maximum bytes of one. */
    readonly maxSize: number
    /** @param length bytes. @throws RpcError `invalid_image`, `storage_full` */
    begin(owner: Owner, length: number, file?: string): ReturnType<Uploads['begin']>
    /** @param end ends the content, because another request continues the upload. @throws RpcError */
    resume(
      owner: Owner,
      handle: string,
      from: number,
      content: AsyncIterable<Uint8Array>,
      end: () => void,
    ): ReturnType<Uploads['resume']>
  }
  /** To be called when the associated account is another one: uploads and parts of layers of the former one are removed. */
  followAccount(): Promise<void>
}

export interface ImageParts extends StoredImagesParts {
  readonly folder: string
  /** Bytes that stay free on the disk. */
  readonly reserve: number
  /** Maximum bytes of an archive, packed and unpacked. */
  readonly maxSize: number
  readonly registries: SourceOptions
  /** When downloads may use the link; undefined: always. */
  readonly allowance?: Allowance
  /** Milliseconds for a download. */
  readonly pullMs?: number
  /**
   * Milliseconds for which uploads and layers stay of which a part has arrived, also across a start. 0: layers are removed when their pull fails,
   * and uploads after an hour.
   */
  readonly partialMs?: number
  /** Called when a download from a registry begins, continues or ends. */
  readonly onPull: () => void
  /** Ends downloads and uploads of an account that has left, and of a project that was removed; left out: all continue. */
  readonly watchWanted?: WatchWanted
}

export async function openImages(parts: ImageParts): Promise<Images> {
  const { folder, blobs, store, clock, maxSize } = parts
  // Shares limit how much waits.
  const turns = createTurns(Number.POSITIVE_INFINITY)
  const exclusively = <T>(work: () => Promise<T>): Promise<T> => turns.take('the images', work)
  const stored = createStoredImages(parts, exclusively)
  const removals = createOwnerShare(shares.removals)
  const pulls = createPulls(parts.onPull, undefined, parts.pullMs)
  const downloads = createDownloads()
  const whileWanted = createWhileWanted(parts.watchWanted ?? (() => () => undefined))
  const { partialMs = 0 } = parts
  const partials = await openPartials(join(folder, 'partial'), partialMs, clock)
  const uploads = await openUploads(join(folder, 'uploads'), blobs, clock, partialMs)
  // The account may have left right before the last stop.
  await uploads.keepOnly(parts.accountId())
  // Where the document was damaged, what it knew may come back from a backup.
  if (store.notices.length === 0) {
    const former = contentsOf(parts.former.all())
    await blobs.keepOnly(blobsOf({ contents: { ...former, ...store.value.contents } }))
  }

  const guardFor = createGuards(parts, { stored, uploads, partials, exclusively })

  /** Changes of one owner run one after the other, so that those of another owner wait for one of them only. */
  const inTurn = <T>(owner: Owner, work: () => Promise<T>): Promise<T> => turns.take(keyOf(owner, ''), work)

  const deployer = createDeployer({
    ...{ ...parts, stored, pulls, downloads, guardFor, exclusively, inTurn, whileWanted },
    partials: partialMs > 0 ? partials : undefined,
  })

  const registryPulls = await openRegistryPulls(join(folder, 'pulls'), { ...parts, deployer })

  return {
    continuePulls: registryPulls.continueAll,
    upload: asWhole(uploads, maxSize, guardFor, whileWanted),
    uploads: inParts(uploads, maxSize, guardFor, whileWanted),
    async deploy(owner, source, how = {}) {
      if (source.startsWith('upload:')) {
        const usual = source.slice(7, 19)
        const id = await uploads.use(owner, source, how.name, (path, file = usual) =>
          deployer.fromFile(owner, path, { given: how.name, file }),
        )
        return imageOfUpload(store, owner, id)
      }
      if (!isAbsolute(source)) return registryPulls.pull(owner, source, how)
      await expectNotBelow(source, folder)
      return deployer.fromFile(owner, source, { given: how.name, file: source })
    },
    receive: async (owner, content, length = 0, naming = {}) =>
      deployer.fromStream(owner, content, length, naming),
    pulls: pulls.of,
    describeDownload: downloads.describe,
    list: (owner) =>
      Object.entries(store.value.images)
        .filter(([, image]) => isOwnedBy(image, owner))
        .map(([key, image]) => recordOf(store.value, key, image)),
    sweep: () => exclusively(stored.sweep),
    hold: stored.hold,
    async followAccount() {
      for (const each of [uploads, partials]) await each.keepOnly(parts.accountId())
    },
    remove: (owner, id) =>
      removals.run(owner, () =>
        inTurn(owner, () => exclusively(() => removeImage(store, stored, owner, id))),
      ),
  }
}

/** What another project sent is found by its own handles only. @throws RpcError `not_found` for a path that leads into the folder, also by links */
async function expectNotBelow(path: string, folder: string): Promise<void> {
  const [found, top] = await Promise.all([path, folder].map((each) => realpath(each).catch(() => undefined)))
  if (found !== undefined && top !== undefined && found.startsWith(`${top}/`))
    throw new RpcError('not_found', `there is no file ${JSON.stringify(path)} on this device`)
}

/** An answer that was lost is given again, but not for an image that was removed meanwhile. @throws RpcError `not_found` */
function imageOfUpload({ value }: DeploymentStore, owner: Owner, id: string): ImageRecord {
  const key = askedKey(owner, id)
  const image = value.images[key]
  if (image) return recordOf(value, key, image)
  throw new RpcError('not_found', `image ${id} was removed after its upload was deployed`)
}

/** Uploads as a whole, as far as there is room. */
const asWhole =
  (
    uploads: Uploads,
    maxSize: number,
    guardFor: (owner: Owner) => DiskGuard,
    whileWanted: WhileWanted,
  ): Images['upload'] =>
  async (owner, content, length = 0) => {
    expectSize(length, maxSize)
    const guard = guardFor(owner)
    await guard.expectRoom(length)
    return whileWanted(owner, (signal) =>
      uploads.receive(owner, measured(guard.watch(arriving(content, signal), length), createBudget(maxSize))),
    )
  }

/** Uploads in parts, as far as there is room. */
const inParts = (
  uploads: Uploads,
  maxSize: number,
  guardFor: (owner: Owner) => DiskGuard,
  whileWanted: WhileWanted,
): Images['uploads'] => ({
  maxSize,
  stateOf: uploads.stateOf,
  remove: uploads.remove,
  async begin(owner, length, file) {
    expectSize(length, maxSize)
    await guardFor(owner).expectRoom(length)
    return uploads.begin(owner, length, file)
  },
  resume: (owner, handle, from, content, end) =>
    whileWanted(owner, (signal) => {
      const chunks = (left: number) => guardFor(owner).watch(arriving(content, signal), left)
      return uploads.resume(owner, handle, from, chunks, end)
    }),
})

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

interface Stored {
  readonly stored: StoredImages
  readonly uploads: Pick<Uploads, 'unused'>
  readonly partials: Pick<Partials, 'unused'>
  readonly exclusively: (work: () => Promise<void>) => Promise<void>
}

/** What owners may lose for one of them: images that nothing uses, former releases, uploads, and parts of layers. */
const createGuards =
  ({ folder, reserve, clock }: ImageParts, { stored, uploads, partials, exclusively }: Stored) =>
  (owner: Owner): DiskGuard =>
    createDiskGuard(folder, reserve, (protectedBytes) => {
      const images = stored.unused().map((image) => ({
        ...image,
        remove: () => exclusively(() => stored.dropUnused(image)),
      }))
      const releases = stored.unusedReleases().map((each) => ({
        ...each,
        remove: () => exclusively(() => stored.dropRelease(each.release)),
      }))
      const others = [...images, ...releases, ...uploads.unused()]
      const key = keyOf(owner, '')
      const all = [...others, ...partials.unused([key, ...others.map((each) => each.owner)])]
      return evictableFor(key, all, clock.now(), protectedBytes)
    })
