/** Archives that were sent ahead of the call that deploys them. They are stored for their owner, for an hour or until they are used. */
import { randomUUID } from 'node:crypto'
import { rename, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type ImageRecord, RpcError, type UploadReceipt } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { createOwnerShare } from '../deployments/owner-share.ts'
import { keyOf, type Owner } from '../deployments/ownership.ts'
import { appendTo, takeOver } from './append.ts'
import type { Blobs } from './blobs.ts'
import { shares } from './limits.ts'
import { missingUpload, openStoredUploads, type StoredUpload, type StoredUploads } from './stored-uploads.ts'

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
   * Works with the file behind a handle of the owner, which stays until the work is complete. Work that succeeds uses the upload up. The result
   * of one that arrived in parts is there for the rest of the hour, for a caller that lost its connection.
   *
   * @param as name that the caller gives the image
   * @throws RpcError `not_found`, `conflict` if bytes are missing, and what the work throws
   */
  use(
    owner: Owner,
    handle: string,
    as: string | undefined,
    work: (path: string, file: string | undefined) => Promise<ImageRecord>,
  ): Promise<ImageRecord>
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

export async function openUploads(folder: string, blobs: Blobs, clock: Clock): Promise<Uploads> {
  const stored = await openStoredUploads(folder, clock)
  const share = createOwnerShare(shares.uploads)
  const stateOf = (handle: string, upload: StoredUpload): UploadState => ({
    ...{ handle, offset: upload.bytes, length: upload.length, expiresAt: stored.expiryOf(upload) },
  })

  async function store(owner: Owner, content: AsyncIterable<Uint8Array>): Promise<UploadReceipt> {
    const { digest, path: draft, size } = await blobs.draft(content)
    const handle = digest.replace('sha256:', 'upload:')
    const path = join(folder, basename(draft))
    await rename(draft, path)
    await stored.store(keyOf(owner, handle), { path, owner: keyOf(owner, ''), bytes: size, length: size })
    return { handle, size }
  }

  return {
    receive: (owner, content) => share.run(owner, () => store(owner, content)),
    async begin(owner, length, file) {
      const name = randomUUID()
      const path = join(folder, name)
      await writeFile(path, '', { flag: 'wx', mode: 0o600 })
      const named = { length, isInParts: true as const, ...(file !== undefined && { file }) }
      const upload = { path, owner: keyOf(owner, ''), bytes: 0, ...named }
      const handle = `upload:${name}`
      return stateOf(handle, await stored.store(keyOf(owner, handle), upload))
    },
    async stateOf(owner, handle) {
      const upload = stored.find(owner, handle)
      await takeOver(upload)
      return stateOf(handle, upload)
    },
    resume: (owner, handle, from, content, end) =>
      share.run(owner, async () => {
        const upload = stored.find(owner, handle)
        await stored
          .hold(upload, () => appendTo(upload, from, content, end))
          .catch((cause) => {
            // It was removed a moment ago.
            throw cause.code === 'ENOENT' ? missingUpload(handle) : cause
          })
        return stateOf(handle, upload)
      }),
    async remove(owner, handle) {
      const upload = stored.find(owner, handle)
      await takeOver(upload)
      await stored.drop(keyOf(owner, handle))
    },
    async use(owner, handle, as, work) {
      const upload = stored.find(owner, handle)
      if (upload.deployed && upload.deployed.as === as) return upload.deployed.image
      if (upload.deployed) throw missingUpload(handle)
      expectComplete(upload)
      return stored.hold(upload, async () => {
        const image = await work(upload.path, upload.file)
        if (upload.isInParts) upload.deployed = { as, image }
        else await stored.dropSame(keyOf(owner, handle), upload)
        return image
      })
    },
    keepOnly: stored.keepOnly,
    unused: stored.unused,
  }
}

function expectComplete({ bytes, length }: StoredUpload): void {
  if (bytes === length) return
  throw new RpcError('conflict', `the upload has ${bytes} of its ${length} bytes`, {
    hint: 'Send the bytes that are missing first.',
  })
}
