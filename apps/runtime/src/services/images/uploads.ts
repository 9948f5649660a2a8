/** Archives that were sent ahead of the call that deploys them. They are stored for their owner, for an hour or until they are used. */
import { rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { RpcError, type UploadReceipt } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { safely } from '@selvedge/service-kit/safely'
import { makeFolder } from '@selvedge/service-kit/store'
import { createOwnerShare } from '../deployments/owner-share.ts'
import { isKeyOf, keyOf, type Owner } from '../deployments/ownership.ts'
import type { Blobs } from './blobs.ts'
import type { Unused } from './evictable.ts'
import { shares } from './limits.ts'

const keptForMs = 3_600_000
/** Uploads that are stored. */
const maxUploads = 8

interface Uploads {
  /** @throws RpcError `busy` when too many of the owner arrive */
  receive(owner: Owner, content: AsyncIterable<Uint8Array>): Promise<UploadReceipt>
  /**
   * Works with the file behind a handle of the owner, which stays until the work is complete. Work that succeeds uses the upload up.
   *
   * @throws RpcError `not_found`, and what the work throws
   */
  use<T>(owner: Owner, handle: string, work: (path: string) => Promise<T>): Promise<T>
  /** Removes what other accounts sent. */
  keepOnly(accountId: string): Promise<void>
  /** Uploads that no work uses. */
  unused(): (Unused & { remove(): Promise<void> })[]
}

interface Upload {
  readonly path: string
  readonly bytes: number
  readonly time: number
  /** The owner: account and client. */
  readonly owner: string
}

export async function openUploads(folder: string, blobs: Blobs, clock: Clock): Promise<Uploads> {
  await rm(folder, { recursive: true, force: true })
  makeFolder(folder)
  const share = createOwnerShare(shares.uploads)
  /** Oldest first. */
  const received = new Map<string, Upload>()
  /** One entry for each work with an upload. */
  const inUse = new Set<{ readonly upload: Upload }>()

  const isUsed = (upload: Upload) => [...inUse].some((each) => each.upload === upload)

  /** Beyond the limit the owner who has most loses the oldest one. */
  function findSurplus(): string | undefined {
    if (received.size <= maxUploads) return undefined
    const byOwner = Map.groupBy(received, ([, { owner }]) => owner)
    const [most] = [...byOwner.values()].sort((one, other) => other.length - one.length)
    return most?.find(([, upload]) => !isUsed(upload))?.[0]
  }

  /** Removes what is older than an hour, and what is too much. */
  async function dropOld(): Promise<void> {
    for (const [key, upload] of received)
      if (clock.now() - upload.time >= keptForMs && !isUsed(upload)) await drop(key)
    for (let key = findSurplus(); key !== undefined; key = findSurplus()) await drop(key)
  }

  async function drop(key: string): Promise<void> {
    const upload = received.get(key)
    received.delete(key)
    if (upload) await rm(upload.path, { force: true })
  }

  async function store(owner: Owner, content: AsyncIterable<Uint8Array>): Promise<UploadReceipt> {
    const { digest, path: draft, size } = await blobs.draft(content)
    const handle = digest.replace('sha256:', 'upload:')
    const key = keyOf(owner, handle)
    const path = join(folder, basename(draft))
    await rename(draft, path)
    const former = received.get(key)
    received.delete(key)
    received.set(key, { path, bytes: size, time: clock.now(), owner: keyOf(owner, '') })
    // Work that reads the former copy has it open.
    if (former) await rm(former.path, { force: true })
    await dropOld()
    setTimeout(safely('uploads.expire', dropOld), keptForMs + 1000).unref()
    return { handle, size }
  }

  return {
    receive: (owner, content) => share.run(owner, () => store(owner, content)),
    async use(owner, handle, work) {
      const key = keyOf(owner, handle)
      const upload = received.get(key)
      if (!upload)
        throw new RpcError('not_found', `there is no upload ${JSON.stringify(handle.slice(0, 80))}`, {
          hint: 'Send the archive to POST /mcm/v1/uploads again. An upload is stored for one hour.',
        })
      const entry = { upload }
      inUse.add(entry)
      try {
        const result = await work(upload.path)
        if (received.get(key) === upload) await drop(key)
        return result
      } finally {
        inUse.delete(entry)
      }
    },
    async keepOnly(accountId) {
      for (const key of received.keys()) if (!isKeyOf(key, accountId)) await drop(key)
    },
    unused: () =>
      [...received]
        .filter(([, upload]) => !isUsed(upload))
        .map(([key, { owner, bytes, time }]) => ({ owner, bytes, usedAt: time, remove: () => drop(key) })),
  }
}
