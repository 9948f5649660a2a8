/** Archives that were sent ahead of the call that deploys them. They are stored for their owner, until they are used or too old. */
import { hash, randomUUID } from 'node:crypto'
import { open, rename, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type ImageRecord, RpcError, type UploadReceipt } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { createOwnerShare } from '../deployments/owner-share.ts'
import type { Owner } from '../deployments/ownership.ts'
import { appendTo, takeOver } from './append.ts'
import type { Blobs } from './blobs.ts'
import { shares } from './limits.ts'
import { missingUpload, type StoredUpload } from './stored-upload.ts'
import { openStoredUploads, type StoredUploads } from './stored-uploads.ts'

export interface Uploads extends Pick<StoredUploads, 'keepOnly' | 'unused'> {
  /** @throws RpcError `busy` when too many of the owner arrive */
  receive(owner: Owner, content: AsyncIterable<Uint8Array>): Promise<UploadReceipt>
  /** Makes room for an archive that arrives in parts. @param length bytes @param file its name on the machine that sends it */
  begin(owner: Owner, length: number, file?: string): Promise<UploadState>
  /** First it ends a request that still adds bytes: its connection may be half-open. @throws RpcError `not_found` */
  stateOf(owner: Owner, handle: string): Promise<UploadState>
  /**
   * Adds the bytes from a position on. What arrived stays when the content breaks off.
   *
   * @param end ends the request with the content, because another one continues the upload
   * @throws RpcError `not_found`, `conflict` if the bytes are not the next ones, `invalid_params` if they are too many, `busy`; and what
   * the content throws
   */
  resume(
    owner: Owner,
    handle: string,
    from: number,
    content: (left: number) => AsyncIterable<Uint8Array>,
    end: () => void,
  ): Promise<UploadState>
  /** @throws RpcError `not_found` */
  remove(owner: Owner, handle: string): Promise<void>
  /**
   * Works with the file behind a handle of the owner, which stays until the work is complete. Work that succeeds uses the upload up. The image
   * of one that arrived in parts is known for an hour, also across a start, for a caller that lost its connection.
   *
   * @param as name that the caller gives the image
   * @returns ID of the image
   * @throws RpcError `not_found`, `conflict` if bytes are missing, and what the work throws
   */
  use(
    owner: Owner,
    handle: string,
    as: string | undefined,
    work: (path: string, file: string | undefined) => Promise<Pick<ImageRecord, 'id'>>,
  ): Promise<string>
}

export interface UploadState {
  readonly handle: string
  /** Bytes that are here. */
  readonly offset: number
  /** Bytes of the whole archive. */
  readonly length: number
  /** Unix milliseconds; each byte that arrives postpones it. */
  readonly expiresAt: number
}

/** @param partialMs milliseconds after the last byte for which uploads stay, also across a start; 0: an hour, and not across a start */
export async function openUploads(
  folder: string,
  blobs: Blobs,
  clock: Clock,
  partialMs = 0,
): Promise<Uploads> {
  const stored = await openStoredUploads(folder, clock, partialMs)
  const share = createOwnerShare(shares.uploads)
  const elapsed = () => performance.now()
  const stateOf = (upload: StoredUpload): UploadState => ({
    ...{ handle: upload.handle, offset: upload.bytes, length: upload.length },
    expiresAt: stored.expiryOf(upload),
  })

  return {
    receive: (owner, content) => share.run(owner, () => storeWhole(folder, blobs, stored, owner, content)),
    async begin(owner, length, file) {
      const name = randomUUID()
      const path = join(folder, name)
      stored.makeFolder()
      await writeFile(path, '', { flag: 'wx', mode: 0o600 })
      const upload = { owner, handle: `upload:${name}`, path, length, file, isInParts: true }
      return stateOf(await stored.store({ ...upload, bytes: 0, digest: hash('sha256', '', 'hex') }))
    },
    async stateOf(owner, handle) {
      const upload = await stored.find(owner, handle)
      await takeOver(upload)
      return stateOf(upload)
    },
    resume: (owner, handle, from, content, end) =>
      share.run(owner, async () => {
        const upload = await stored.find(owner, handle)
        const note = (bytes: number, digest: string) => stored.note(upload, bytes, digest)
        await stored
          .hold(upload, () => appendTo(upload, from, content, end, { note, elapsed }))
          .catch((cause) => {
            // It was removed a moment ago.
            throw cause.code === 'ENOENT' ? missingUpload(handle) : cause
          })
        return stateOf(upload)
      }),
    async remove(owner, handle) {
      const upload = await stored.find(owner, handle)
      await takeOver(upload)
      await stored.drop(upload)
    },
    async use(owner, handle, as, work) {
      const upload = await stored.find(owner, handle)
      if (upload.deployed && upload.deployed.as === as) return upload.deployed.id
      if (upload.deployed) throw missingUpload(handle)
      expectComplete(upload)
      return stored.hold(upload, async () => {
        const { id } = await work(upload.path, upload.file)
        if (upload.isInParts) await stored.useUp(upload, { as, id })
        else await stored.drop(upload)
        return id
      })
    },
    keepOnly: stored.keepOnly,
    unused: stored.unused,
  }
}

async function storeWhole(
  folder: string,
  blobs: Blobs,
  stored: StoredUploads,
  owner: Owner,
  content: AsyncIterable<Uint8Array>,
): Promise<UploadReceipt> {
  const written = await blobs.draft(content)
  const { digest, path: draft, size } = written
  const handle = digest.replace('sha256:', 'upload:')
  const path = join(folder, basename(draft))
  try {
    await sync(draft)
    stored.makeFolder()
    await rename(draft, path)
  } catch (cause) {
    // A full disk has no room for the folder, and the archive is why.
    await blobs.discard([written])
    throw cause
  }
  const upload = { owner, handle, path, length: size, bytes: size, isInParts: false }
  await stored.store({ ...upload, digest: digest.replace('sha256:', '') })
  return { handle, size }
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r')
  await file.datasync().finally(() => file.close())
}

function expectComplete({ bytes, length }: StoredUpload): void {
  if (bytes === length) return
  throw new RpcError('conflict', `the upload has ${bytes} of its ${length} bytes`, {
    hint: 'Send the bytes that are missing first.',
  })
}
