/** Deploys images: from a stream, a file or a registry into the store and the document. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type ImageRecord, RpcError } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import type { DeploymentStore, StoredImage } from '../deployments/deployments.ts'
import { createOwnerShare } from '../deployments/owner-share.ts'
import { keyOf, type Owner } from '../deployments/ownership.ts'
import { type Inspected, inspectImage } from './admit.ts'
import { type Packed, readArchive } from './archive.ts'
import { arriving, expectSize, tooSlow } from './arriving.ts'
import type { Blobs } from './blobs.ts'
import { createBudget, measured } from './budget.ts'
import type { DiskGuard } from './disk.ts'
import type { Downloads } from './downloads.ts'
import { chooseName, expectNotOther, type Naming } from './image-name.ts'
import { recordOf } from './image-record.ts'
import { formRestMs, shares } from './limits.ts'
import { within } from './paced.ts'
import type { Partials } from './partials.ts'
import type { Counted, Pulls } from './pulls.ts'
import type { Allowance } from './registry/allowed.ts'
import { createPlaces } from './registry/at-once.ts'
import { pullImage } from './registry/registry.ts'
import type { SourceOptions } from './registry/sources.ts'
import { ownBlobs, type StoredImages } from './stored-images.ts'
import type { WhileWanted } from './wanted.ts'

/** Each method throws RpcError; then nothing is left of the image. */
export interface Deployer {
  /**
   * @param length bytes, as they were announced; 0 if it is unknown
   * @param naming is awaited when the archive has arrived
   */
  fromStream(
    owner: Owner,
    content: AsyncIterable<Uint8Array>,
    length: number,
    naming: Naming | Promise<Naming>,
  ): Promise<ImageRecord>
  fromFile(owner: Owner, path: string, naming: Naming): Promise<ImageRecord>
  fromRegistry(owner: Owner, source: string, naming: Naming, how: PullHow): Promise<ImageRecord>
}

interface PullHow {
  /** Whether it uses the link at once, whatever that costs. */
  readonly isUrgent: boolean
  /** Milliseconds that are left of a pull that an earlier run of the runtime began. */
  readonly continuedMs?: number
  /** Does the work, when the owner has a place for it. */
  readonly around?: <T>(work: () => Promise<T>) => Promise<T>
}

export interface DeployerParts {
  readonly store: DeploymentStore
  readonly stored: StoredImages
  readonly blobs: Blobs
  readonly clock: Clock
  readonly pulls: Pulls
  readonly downloads: Pick<Downloads, 'note'>
  /** Undefined if nothing is stored of a pull that fails. */
  readonly partials: Partials | undefined
  /** Maximum bytes of an archive, packed and unpacked. */
  readonly maxSize: number
  readonly registries: SourceOptions
  /** When downloads may use the link; undefined: always. */
  readonly allowance?: Allowance | undefined
  readonly whileWanted: WhileWanted
  readonly guardFor: (owner: Owner) => DiskGuard
  /** Does work when no other change of the images is under way. */
  readonly exclusively: <T>(work: () => Promise<T>) => Promise<T>
  /** Does work when no other change of the owner is under way. */
  readonly inTurn: <T>(owner: Owner, work: () => Promise<T>) => Promise<T>
}

const atOnce = <T>(work: () => Promise<T>): Promise<T> => work()

/** Times its size that an archive needs on the disk while it is read: its layers, and what is taken out of them. */
const copies = 2

export function createDeployer(parts: DeployerParts): Deployer {
  const { store, blobs, pulls, downloads, maxSize, registries, guardFor, exclusively, inTurn } = parts
  const archives = createOwnerShare(shares.archives)
  const places = createPlaces()

  const admit = (owner: Owner, packed: Packed, naming: Naming, { watch }: DiskGuard): Promise<ImageRecord> =>
    inTurn(owner, async () => {
      const inspected = await inspectImage(blobs, packed, createBudget(maxSize), watch)
      try {
        return await exclusively(() => keep(parts, owner, packed, naming, inspected))
      } finally {
        await inspected.discard()
      }
    })

  /** Frames to be skipped unpack to nothing: the packed bytes are counted as well. */
  async function fromArchive(
    owner: Owner,
    content: AsyncIterable<Uint8Array>,
    length: number,
    naming: Naming | Promise<Naming>,
  ): Promise<ImageRecord> {
    const guard = guardFor(owner)
    await guard.expectRoom(length * copies)
    const counted = measured(guard.watch(content, length), createBudget(maxSize))
    const packed = await readArchive(blobs, counted, createBudget(maxSize))
    const known = await within(Promise.resolve(naming), formRestMs, () =>
      tooSlow(`the form did not end within ${formRestMs / 1000} s after its archive`),
    ).catch(async (cause) => {
      await blobs.discard(packed.drafts)
      throw cause
    })
    return admit(owner, packed, known, guard)
  }

  async function fromFile(owner: Owner, path: string, naming: Naming): Promise<ImageRecord> {
    const found = await stat(path).catch(() => undefined)
    if (!found?.isFile())
      throw new RpcError('not_found', `there is no file ${JSON.stringify(path)} on this device`)
    expectSize(found.size, maxSize)
    return archives.run(owner, () => fromArchive(owner, createReadStream(path), found.size, naming))
  }

  const fromRegistry: Deployer['fromRegistry'] = (owner, source, naming, how) => {
    const { isUrgent, continuedMs, around = atOnce } = how
    const guard = guardFor(owner)
    const work = async (counted: Counted, signal: AbortSignal) => {
      const partials = parts.partials?.begin(owner)
      try {
        const options = {
          ...{ ...counted, ...registries, places, maxSize, signal, mayReuse: reuseOf(store, owner) },
          ...(partials && { partials }),
          ...{ allowance: isUrgent ? undefined : parts.allowance, isContinued: continuedMs !== undefined },
        }
        const image = await admit(owner, await pullImage(blobs, source, options), naming, guard)
        downloads.note(keyOf(owner, image.name), counted.download())
        return image
      } finally {
        partials?.end()
      }
    }
    const pull = (counted: Counted) =>
      around(() => parts.whileWanted(owner, (signal) => work(counted, signal)))
    return pulls.follow(owner, source, guard, pull, continuedMs)
  }

  return {
    async fromStream(owner, content, length, naming) {
      expectSize(length, maxSize)
      const receive = (signal: AbortSignal) => fromArchive(owner, arriving(content, signal), length, naming)
      return archives.run(owner, () => parts.whileWanted(owner, receive))
    },
    fromFile,
    fromRegistry,
  }
}

/** Whether content may be used that the owner has. */
function reuseOf({ value }: DeploymentStore, owner: Owner): (digest: string) => boolean {
  const own = ownBlobs(value, owner)
  return (digest) => own.has(digest)
}

/** Puts an image into the store and the document. */
async function keep(
  { store, stored, clock }: DeployerParts,
  owner: Owner,
  packed: Packed,
  naming: Naming,
  { commit }: Inspected,
): Promise<ImageRecord> {
  const chosen = chooseName(naming, packed.repoTags)
  const { name } = chosen
  const key = keyOf(owner, name)
  const { repoTags } = packed
  expectNotOther(chosen, store.value.images[key], { digest: packed.config.digest, repoTags })
  await stored.makeRoomFor(key, owner)
  const content = await commit().catch(async (cause) => {
    // What was stored of it before it failed.
    await stored.sweep()
    throw cause
  })
  const now = clock.now()
  const image: StoredImage = {
    clientId: owner.client_id,
    accountId: owner.account_id,
    name,
    repoTags: [...packed.repoTags],
    digest: content.config.digest,
    created: now,
    usedAt: now,
  }
  await stored.keep(key, image, content)
  return recordOf(store.value, key, image)
}
