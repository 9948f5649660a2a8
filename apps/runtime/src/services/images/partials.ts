/**
 * Layers of which a part has arrived. They stay on the disk when a pull breaks off and when the runtime stops, so that the next pull of the
 * same owner requests the missing bytes only. Only their owner gets them: a caller who knows a digest has no right to the content.
 *
 * What is found on the disk is not trusted. A name that is no regular file of this user is removed; the content is hashed again, as a whole.
 */
import { createHash, hash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, lstat, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { inBackground, safely } from '@selvedge/service-kit/safely'
import { keyOf, type Owner } from '../deployments/ownership.ts'
import type { Draft } from './blobs.ts'
import type { Unused } from './evictable.ts'
import { createLateFolder } from './late-folder.ts'
import { hashStart, isOwnFile, openOwnFile } from './own-file.ts'

/** Files on the device; a pull has 201 at most. */
const maxFiles = 1000
const sweepIntervalMs = 3_600_000

interface Blob {
  readonly digest: string
  /** Bytes. */
  readonly size: number
}

/** The partial layers of one pull. */
export interface PartialLayers {
  /**
   * A whole layer, continued with what is on the disk of it.
   *
   * @param download gives the bytes from a position on
   * @param onFound called with the bytes that are there already; with a negative number for all of the layer if they were wrong
   * @returns undefined if another pull has the layer at present; then nothing was downloaded
   * @throws RpcError `digest_mismatch`, and what the download throws: after `registry_unavailable` what arrived stays
   */
  complete(
    blob: Blob,
    download: (from: number) => AsyncIterable<Uint8Array>,
    onFound: (bytes: number) => void,
  ): Promise<Draft | undefined>
  /** Whether a draft is one of these files, which stay if the pull may continue. */
  has(draft: Draft): boolean
  /** To be called when the pull is complete or has failed. */
  end(): void
}

export interface Partials {
  begin(owner: Owner): PartialLayers
  /** Removes what other accounts have. */
  keepOnly(accountId: string): Promise<void>
  /** Files that no pull uses. @param owners account and client of those that may be named, as keys */
  unused(owners: Iterable<string>): (Unused & { remove(): Promise<void> })[]
}

interface Found {
  readonly bytes: number
  /** Unix milliseconds of the last change. */
  readonly time: number
}

const accountPart = (accountId: string): string => hash('sha256', accountId, 'hex').slice(0, 16)
const ownerPart = (key: string): string => hash('sha256', key, 'hex').slice(0, 32)
const namePattern = /^[0-9a-f]{16}\.[0-9a-f]{32}\.[0-9a-f]{64}$/
const ownerIn = (name: string): string => name.split('.')[1]!

/** The files of a folder that no pull uses. */
function createFiles(folder: string, ageMs: number, now: () => number) {
  const files = new Map<string, Found>()
  const pathOf = (name: string) => join(folder, name)
  const removals = new Set<Promise<void>>()

  async function remove(name: string): Promise<void> {
    files.delete(name)
    const removal = rm(pathOf(name), { recursive: true, force: true })
    removals.add(removal)
    await removal.finally(() => removals.delete(removal))
  }

  /** Lists a name, or removes what is no part of a layer. */
  async function add(name: string): Promise<void> {
    const found = await lstat(pathOf(name)).catch(() => undefined)
    if (!found) return
    if (namePattern.test(name) && isOwnFile(found))
      files.set(name, { bytes: found.size, time: found.mtimeMs })
    else await remove(name)
  }

  /** Beyond the limit, the owner with most files loses the oldest one. */
  function findSurplus(): string | undefined {
    if (files.size <= maxFiles) return undefined
    const byOwner = Map.groupBy([...files], ([name]) => ownerIn(name))
    const [most] = [...byOwner.values()].sort((one, other) => other.length - one.length)
    return most!.toSorted(([, one], [, other]) => one.time - other.time)[0]![0]
  }

  async function dropOld(): Promise<void> {
    for (const [name, { time }] of files) if (now() - time >= ageMs) await remove(name)
    for (let name = findSurplus(); name !== undefined; name = findSurplus()) await remove(name)
  }

  return {
    ...{ files, pathOf, remove, add, dropOld },
    /** Resolves when no file is being removed: one that was opened before would lose its name. */
    removed: () => Promise.allSettled(removals),
  }
}

/**
 * @param folder is made by the first download
 * @param ageMs milliseconds since their last change after which files are removed
 */
export async function openPartials(
  folder: string,
  ageMs: number,
  clock: Pick<Clock, 'now'>,
): Promise<Partials> {
  const late = createLateFolder(folder)
  const { files, pathOf, remove, add, dropOld, removed } = createFiles(folder, ageMs, clock.now)
  const inUse = new Set<string>()
  for (const name of await late.names()) await add(name)
  await dropOld()
  setInterval(safely('partials.sweep', dropOld), sweepIntervalMs).unref()

  async function release(names: Iterable<string>): Promise<void> {
    for (const name of names) {
      inUse.delete(name)
      await add(name)
      // Another pull may have begun with it meanwhile.
      if (inUse.has(name)) files.delete(name)
    }
    await dropOld()
  }

  function begin(owner: Owner): PartialLayers {
    const prefix = `${accountPart(owner.account_id)}.${ownerPart(keyOf(owner, ''))}`
    const own = new Set<string>()
    return {
      async complete(blob, download, onFound) {
        const name = `${prefix}.${blob.digest.replace('sha256:', '')}`
        if (inUse.has(name) && !own.has(name)) return undefined
        inUse.add(name)
        own.add(name)
        files.delete(name)
        await removed()
        try {
          late.make()
          return await completeFile(pathOf(name), blob, download, onFound)
        } catch (cause) {
          if (!(cause instanceof RpcError && cause.reason === 'registry_unavailable')) await remove(name)
          throw cause
        }
      },
      has: ({ path }) => [...own].some((name) => pathOf(name) === path),
      end: () => inBackground('partials.end', release(own)),
    }
  }

  return {
    begin,
    async keepOnly(accountId) {
      const part = `${accountPart(accountId)}.`
      for (const name of files.keys()) if (!name.startsWith(part)) await remove(name)
    },
    unused(owners) {
      const known = new Map([...owners].map((owner) => [ownerPart(owner), owner]))
      return [...files].map(([name, { bytes, time }]) => ({
        owner: known.get(ownerIn(name)) ?? ownerIn(name),
        bytes,
        usedAt: time,
        remove: () => (inUse.has(name) ? Promise.resolve() : remove(name)),
      }))
    },
  }
}

/** Continues a file; if its content turns out to be wrong, it is downloaded once more from its start. @throws RpcError */
async function completeFile(
  path: string,
  blob: Blob,
  download: (from: number) => AsyncIterable<Uint8Array>,
  onFound: (bytes: number) => void,
): Promise<Draft> {
  const handle = await openOwn(path)
  try {
    const { size } = await handle.stat()
    // A file that is too long is another one.
    const isFitting = size > 0 && size <= blob.size
    if (!isFitting) await handle.truncate(0)
    let digest = await appendRest(handle, isFitting ? size : 0, blob, download, onFound)
    if (digest !== blob.digest && isFitting) {
      await handle.truncate(0)
      digest = await appendRest(handle, 0, blob, download, () => onFound(-blob.size))
    }
    if (digest === blob.digest) return { path, digest, size: blob.size }
    throw new RpcError('digest_mismatch', `content that should be ${blob.digest} is ${digest}`)
  } catch (cause) {
    // What arrived should survive a power cut; if it does not, its digest shows it.
    await handle.datasync().catch(() => undefined)
    throw cause
  } finally {
    await handle.close()
  }
}

/** Opens a file, or makes it. What another user or a link left under its name is removed. @throws NodeJS.ErrnoException */
async function openOwn(path: string): Promise<FileHandle> {
  const { O_APPEND, O_CREAT } = constants
  for (let attempts = 0; ; attempts++) {
    const handle = await openOwnFile(path, O_CREAT | O_APPEND).catch((cause) => {
      if (attempts > 0) throw cause
      return undefined
    })
    if (handle) return handle
    if (attempts > 0) throw new Error(`${path} is not a file of this user`)
    await rm(path, { recursive: true, force: true })
  }
}

/** The digest of a file with the bytes that were missing. */
async function appendRest(
  handle: FileHandle,
  from: number,
  blob: Blob,
  download: (from: number) => AsyncIterable<Uint8Array>,
  onFound: (bytes: number) => void,
): Promise<string> {
  const digest = createHash('sha256')
  if (from > 0) await hashStart(handle, from, digest)
  onFound(from)
  if (from < blob.size) {
    for await (const chunk of download(from)) {
      digest.update(chunk)
      for (let at = 0; at < chunk.length; ) at += (await handle.write(chunk, at)).bytesWritten
    }
  }
  return `sha256:${digest.digest('hex')}`
}
