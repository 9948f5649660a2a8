/** The uploads on the disk: their owners, how long they stay, and which make room for others. A start of the runtime removes all of them. */
import { rm } from 'node:fs/promises'
import { type ImageRecord, RpcError } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { safely } from '@selvedge/service-kit/safely'
import { makeFolder } from '@selvedge/service-kit/store'
import { isKeyOf, keyOf, type Owner } from '../deployments/ownership.ts'
import type { Unused } from './evictable.ts'

const keptForMs = 3_600_000
const sweepMs = 60_000
/** Uploads that are stored, and of those that were used up. */
const maxUploads = 8
const maxUsedUp = 64

interface NewUpload {
  readonly path: string
  /** Account and client. */
  readonly owner: string
  /** Bytes on the disk. */
  bytes: number
  /** Bytes when it is complete. */
  readonly length: number
  /** Its name on the machine that sends it. */
  readonly file?: string
  readonly isInParts?: true
}

export interface StoredUpload extends NewUpload {
  /** Unix milliseconds of the last byte. */
  time: number
  /** The request that adds bytes. */
  writer?: { end(): void; readonly complete: Promise<unknown> } | undefined
  /** The image, and the name that its caller gave: from then on, nothing is on the disk. */
  deployed?: { readonly as: string | undefined; readonly image: ImageRecord }
}

export interface StoredUploads {
  /** Replaces one of the same key, and removes what is too old and too much. */
  store(key: string, upload: NewUpload): Promise<StoredUpload>
  /** @throws RpcError `not_found` */
  find(owner: Owner, handle: string): StoredUpload
  /** Does work with an upload, which stays until the work is complete; then it leaves the disk if it was deployed. */
  hold<T>(upload: StoredUpload, work: () => Promise<T>): Promise<T>
  drop(key: string): Promise<void>
  /** Unless the key has another one by now. */
  dropSame(key: string, upload: StoredUpload): Promise<void>
  /** Unix milliseconds. */
  expiryOf(upload: StoredUpload): number
  /** Removes what other accounts sent. */
  keepOnly(accountId: string): Promise<void>
  /** Uploads that no work uses. */
  unused(): (Unused & { remove(): Promise<void> })[]
}

/** @param folder is emptied */
export async function openStoredUploads(folder: string, clock: Clock): Promise<StoredUploads> {
  await rm(folder, { recursive: true, force: true })
  makeFolder(folder)
  /** Oldest first. */
  const received = new Map<string, StoredUpload>()
  const { isUsed, during } = createUses()
  let timer: NodeJS.Timeout | undefined
  const expiryOf = ({ time }: StoredUpload) => time + keptForMs

  /** Removes what is older than an hour, and what is too much. */
  async function dropOld(): Promise<void> {
    for (const [key, upload] of received)
      if (clock.now() >= expiryOf(upload) && !isUsed(upload)) await drop(key)
    for (let key = surplusOf(received, isUsed); key !== undefined; key = surplusOf(received, isUsed))
      await drop(key)
  }

  async function drop(key: string): Promise<void> {
    const upload = received.get(key)
    received.delete(key)
    upload?.writer?.end()
    if (upload) await rm(upload.path, { force: true })
  }

  /** While something is stored. */
  function sweepLater(): void {
    if (timer !== undefined) return
    timer = setTimeout(
      safely('uploads.expire', async () => {
        timer = undefined
        await dropOld()
        if (received.size > 0) sweepLater()
      }),
      sweepMs,
    ).unref()
  }

  return {
    async store(key, upload) {
      const former = received.get(key)
      received.delete(key)
      const added = { ...upload, time: clock.now() }
      received.set(key, added)
      // Work that reads the former copy has it open.
      if (former) await rm(former.path, { force: true })
      await dropOld()
      sweepLater()
      return added
    },
    find(owner, handle) {
      const upload = received.get(keyOf(owner, handle))
      if (upload) return upload
      throw missingUpload(handle)
    },
    async hold(upload, work) {
      try {
        return await during(upload, work)
      } finally {
        upload.time = clock.now()
        if (upload.deployed && !isUsed(upload)) await rm(upload.path, { force: true })
      }
    },
    drop,
    async dropSame(key, upload) {
      if (received.get(key) === upload) await drop(key)
    },
    expiryOf,
    async keepOnly(accountId) {
      for (const key of received.keys()) if (!isKeyOf(key, accountId)) await drop(key)
    },
    unused: () =>
      [...received]
        .filter(([, upload]) => upload.deployed === undefined && !isUsed(upload))
        .map(([key, { owner, bytes, time }]) => ({ owner, bytes, usedAt: time, remove: () => drop(key) })),
  }
}

/** Work with uploads that is not complete. */
function createUses() {
  /** One entry for each work. */
  const inUse = new Set<{ readonly upload: StoredUpload }>()
  return {
    isUsed: (upload: StoredUpload) => [...inUse].some((each) => each.upload === upload),
    async during<T>(upload: StoredUpload, work: () => Promise<T>): Promise<T> {
      const entry = { upload }
      inUse.add(entry)
      try {
        return await work()
      } finally {
        inUse.delete(entry)
      }
    },
  }
}

export const missingUpload = (handle: string): RpcError =>
  new RpcError('not_found', `there is no upload ${JSON.stringify(handle.slice(0, 80))}`, {
    hint: 'Send the archive to POST /mcm/v1/uploads again. An upload is stored for one hour.',
  })

/** The key of one to be removed: beyond a limit, the owner who has most loses the oldest one. */
function surplusOf(
  received: ReadonlyMap<string, StoredUpload>,
  isUsed: (upload: StoredUpload) => boolean,
): string | undefined {
  const [usedUp = [], present = []] = [true, false].map((wanted) =>
    [...received].filter(([, { deployed }]) => (deployed !== undefined) === wanted),
  )
  for (const [all, most] of [
    [present, maxUploads],
    [usedUp, maxUsedUp],
  ] as const) {
    if (all.length <= most) continue
    const byOwner = Map.groupBy(all, ([, { owner }]) => owner)
    const [largest] = [...byOwner.values()].sort((one, other) => other.length - one.length)
    const found = largest?.find(([, upload]) => !isUsed(upload))
    if (found) return found[0]
  }
  return undefined
}
