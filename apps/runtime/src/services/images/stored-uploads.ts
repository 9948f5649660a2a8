/** The uploads on the disk: their owners, how long they stay, also across a start of the runtime, and which make room for others. */
import { rm } from 'node:fs/promises'
import type { Clock } from '@selvedge/service-kit/clock'
import { safely } from '@selvedge/service-kit/safely'
import { isKeyOf, keyOf, type Owner } from '../deployments/ownership.ts'
import type { Unused } from './evictable.ts'
import {
  createStoredUpload,
  damagedUpload,
  missingUpload,
  type NewUpload,
  type StoredUpload,
} from './stored-upload.ts'
import { openUploadNotes, type UploadNotes } from './upload-notes.ts'

/** Milliseconds for uploads if they do not last across a start, and for what is known of those that are not on the disk any more. */
const hourMs = 3_600_000
const sweepMs = 60_000
/** Uploads that are stored, and of those that were used up. */
const maxUploads = 8
const maxUsedUp = 64

export interface StoredUploads {
  /** To be called before a file of an upload is made. @throws NodeJS.ErrnoException */
  makeFolder(): void
  /**
   * Replaces one of the same handle, and removes what is too old and too much. The bytes have to be on the disk; the upload survives a power
   * cut when this resolves.
   *
   * @throws NodeJS.ErrnoException
   */
  store(upload: NewUpload): Promise<StoredUpload>
  /** The bytes of one that an earlier run stored are compared with what was sent. @throws RpcError `not_found` */
  find(owner: Owner, handle: string): Promise<StoredUpload>
  /** Writes how many bytes of an upload are on the disk. @param digest SHA-256 of them, in hexadecimal @throws NodeJS.ErrnoException */
  note(upload: StoredUpload, bytes: number, digest: string): Promise<void>
  /** Does work with an upload, which stays until the work is complete; then it leaves the disk if it was deployed. */
  hold<T>(upload: StoredUpload, work: () => Promise<T>): Promise<T>
  /** Stores the image of an upload in its place. Never rejects. */
  useUp(upload: StoredUpload, deployed: NonNullable<StoredUpload['deployed']>): Promise<void>
  /** Unless its handle has another one by now. */
  drop(upload: StoredUpload): Promise<void>
  /** Unix milliseconds. */
  expiryOf(upload: StoredUpload): number
  /** Removes what other accounts sent. */
  keepOnly(accountId: string): Promise<void>
  /** Uploads that no work uses. */
  unused(): (Unused & { remove(): Promise<void> })[]
}

const keyOfUpload = ({ owner, handle }: Pick<StoredUpload, 'owner' | 'handle'>): string =>
  keyOf(owner, handle)

/** Whether something of it is on the disk, beside its note. */
const isPresent = ({ deployed, damage }: StoredUpload): boolean =>
  deployed === undefined && damage === undefined

/** Unix milliseconds; not in the future. */
const lastUseOf = ({ time }: StoredUpload, clock: Clock): number => Math.min(time, clock.now())

/** The uploads by key, oldest first, and how they leave. @param ageMs as below */
function createReceived(notes: UploadNotes, clock: Clock, ageMs: number) {
  const received = new Map<string, StoredUpload>()
  const { isUsed, during } = createUses()
  let timer: NodeJS.Timeout | undefined
  const lifetimeOf = (upload: StoredUpload) => (isPresent(upload) && ageMs > 0 ? ageMs : hourMs)
  const expiryOf = (upload: StoredUpload) => lastUseOf(upload, clock) + lifetimeOf(upload)
  /** Without a battery for its clock, a device starts in the past: that neither ends an upload early nor lets it stay longer. */
  const isExpired = (upload: StoredUpload) =>
    clock.now() >= expiryOf(upload) || performance.now() - upload.since >= lifetimeOf(upload)
  const touch = (upload: StoredUpload) => {
    upload.time = clock.now()
    upload.since = performance.now()
  }

  async function removeFiles(upload: StoredUpload): Promise<void> {
    await upload.note?.forget()
    await rm(upload.path, { recursive: true, force: true })
  }

  async function drop(upload: StoredUpload): Promise<void> {
    const key = keyOfUpload(upload)
    if (received.get(key) !== upload) return
    received.delete(key)
    upload.writer?.end()
    await removeFiles(upload)
  }

  /** Removes what is too old, and what is too much. */
  async function dropOld(): Promise<void> {
    for (const upload of received.values()) if (isExpired(upload) && !isUsed(upload)) await drop(upload)
    for (let next = surplusOf(received, isUsed); next; next = surplusOf(received, isUsed)) await drop(next)
  }

  /** While something is stored. */
  function sweepLater(): void {
    if (timer !== undefined || received.size === 0) return
    timer = setTimeout(
      safely('uploads.expire', async () => {
        timer = undefined
        await dropOld()
        sweepLater()
      }),
      sweepMs,
    ).unref()
  }

  async function note(upload: StoredUpload, bytes: number, digest: string): Promise<void> {
    touch(upload)
    await notes.put(upload, bytes, digest)
    // It was removed meanwhile.
    if (received.get(keyOfUpload(upload)) !== upload) await upload.note?.forget()
  }

  /** Removes what cannot be continued from the disk; why is known for an hour. */
  async function expire(upload: StoredUpload): Promise<void> {
    touch(upload)
    await removeFiles(upload)
  }

  async function keepOnly(accountId: string): Promise<void> {
    for (const [key, upload] of received) if (!isKeyOf(key, accountId)) await drop(upload)
  }

  return {
    received,
    isUsed,
    during,
    expiryOf,
    touch,
    removeFiles,
    drop,
    dropOld,
    sweepLater,
    note,
    expire,
    keepOnly,
  }
}

/** @param ageMs milliseconds after the last byte for which uploads stay, also across a start; 0: an hour, and not across a start */
export async function openStoredUploads(folder: string, clock: Clock, ageMs: number): Promise<StoredUploads> {
  const notes = openUploadNotes(folder, ageMs > 0)
  const all = createReceived(notes, clock, ageMs)
  const { received, isUsed, during, removeFiles, drop, dropOld, note, expire } = all
  for (const upload of await notes.read()) {
    received.set(keyOfUpload(upload), upload)
    if (upload.damage !== undefined) await expire(upload)
  }
  await dropOld()
  all.sweepLater()

  /** @throws RpcError `not_found` if its file is not what was sent */
  async function expectSame(upload: StoredUpload): Promise<void> {
    if (upload.damage === undefined) {
      await during(upload, upload.check)
      if (upload.damage !== undefined) await expire(upload)
    }
    if (upload.damage !== undefined) throw damagedUpload(upload.handle, upload.damage)
  }

  return {
    makeFolder: notes.makeFolder,
    async store(upload) {
      const added = createStoredUpload(upload, clock.now(), true)
      const key = keyOfUpload(added)
      const former = received.get(key)
      received.delete(key)
      received.set(key, added)
      try {
        await note(added, upload.bytes, upload.digest)
      } catch (cause) {
        await drop(added)
        if (former && !received.has(key)) received.set(key, former)
        throw cause
      }
      // Work that reads the former copy has it open.
      if (former) await removeFiles(former)
      await dropOld()
      all.sweepLater()
      return added
    },
    async find(owner, handle) {
      const key = keyOf(owner, handle)
      const upload = received.get(key)
      if (!upload) throw missingUpload(handle)
      await expectSame(upload)
      if (received.get(key) !== upload) throw missingUpload(handle)
      return upload
    },
    note,
    async hold(upload, work) {
      try {
        return await during(upload, work)
      } finally {
        all.touch(upload)
        if (upload.deployed && !isUsed(upload)) await rm(upload.path, { force: true })
      }
    },
    async useUp(upload, deployed) {
      upload.deployed = deployed
      // The image is stored, whether or not there is room for the note.
      if (upload.note) await note(upload, upload.bytes, upload.note.value.digest).catch(() => undefined)
    },
    drop,
    expiryOf: all.expiryOf,
    keepOnly: all.keepOnly,
    unused: () =>
      [...received.values()]
        .filter((upload) => isPresent(upload) && !isUsed(upload))
        .map((upload) => ({
          ...{ owner: keyOf(upload.owner, ''), bytes: upload.bytes, usedAt: lastUseOf(upload, clock) },
          remove: () => drop(upload),
        })),
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

/** One to be removed: beyond a limit, the owner who has most loses the oldest one. */
function surplusOf(
  received: ReadonlyMap<string, StoredUpload>,
  isUsed: (upload: StoredUpload) => boolean,
): StoredUpload | undefined {
  const [present = [], usedUp = []] = [true, false].map((wanted) =>
    [...received.values()].filter((upload) => isPresent(upload) === wanted),
  )
  for (const [all, most] of [
    [present, maxUploads],
    [usedUp, maxUsedUp],
  ] as const) {
    if (all.length <= most) continue
    const byOwner = Map.groupBy(all, ({ owner }) => keyOf(owner, ''))
    const [largest] = [...byOwner.values()].sort((one, other) => other.length - one.length)
    const found = largest?.find((upload) => !isUsed(upload))
    if (found) return found
  }
  return undefined
}
