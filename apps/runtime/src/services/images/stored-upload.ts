/** One upload: what is known of it, and whether its file is what was sent. */
import { createHash, type Hash } from 'node:crypto'
import { dirname } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import { type Shared, shareResult } from '@selvedge/service-kit/share'
import { syncFoundNames } from '@selvedge/service-kit/store'
import type { Owner } from '../deployments/ownership.ts'
import type { Note } from './notes.ts'
import { hashStart, openOwnFile } from './own-file.ts'
import type { UploadDocument } from './upload-document.ts'

export interface NewUpload {
  readonly owner: Owner
  readonly handle: string
  readonly path: string
  /** Bytes when it is complete. */
  readonly length: number
  /** Its name on the machine that sends it. */
  readonly file?: string | undefined
  readonly isInParts: boolean
  /** Bytes on the disk. */
  readonly bytes: number
  /** SHA-256 of these bytes, in hexadecimal. */
  readonly digest: string
}

export interface StoredUpload extends Omit<NewUpload, 'digest'> {
  /** Bytes that arrived. When no request adds any, they are on the disk and survive a power cut. */
  bytes: number
  /** State of SHA-256 after these bytes; undefined until `check` has read them. */
  hash: Hash | undefined
  /** Reads what an earlier run stored, if that was not done yet. Then `hash` or `damage` is set. @throws NodeJS.ErrnoException of the disk */
  readonly check: Shared<void>
  /** Unix milliseconds of the last byte. It is in the future after a start with a clock that is behind. */
  time: number
  /** Monotonic milliseconds of the last byte in this run, or of the start. */
  since: number
  /** Undefined if it does not last across a start. */
  note: Note<UploadDocument> | undefined
  /** The request that adds bytes. */
  writer?: { end(): void; readonly complete: Promise<unknown> } | undefined
  /** The ID of its image, and the name that its caller gave: from then on, nothing else is on the disk. */
  deployed?: { readonly as: string | undefined; readonly id: string }
  /** Why what an earlier run stored cannot be continued: then nothing is on the disk. */
  damage?: string
}

/** @param isChecked whether this run wrote the file */
export function createStoredUpload(
  { digest, ...upload }: NewUpload,
  time: number,
  isChecked: boolean,
): StoredUpload {
  const stored: StoredUpload = {
    ...{ ...upload, time, since: performance.now(), note: undefined },
    hash: isChecked && upload.isInParts ? createHash('sha256') : undefined,
    check: shareResult(async () => {
      if (isChecked || stored.damage !== undefined) return
      // The run that made the names may have been killed before it synced them.
      await syncFoundNames(dirname(stored.path))
      if (stored.deployed) return
      const found = await readFile(stored, digest)
      if ('damage' in found) stored.damage = found.damage
      else stored.hash = found.hash
    }, 'check of an upload'),
  }
  return stored
}

/** The state of SHA-256 after all bytes, or why the file is not what was sent. @throws NodeJS.ErrnoException of the disk */
async function readFile(
  { path, bytes }: StoredUpload,
  expected: string,
): Promise<{ hash: Hash } | { damage: string }> {
  const file = await openOwnFile(path).catch((cause) => {
    if (cause.code === 'ENOENT') return damages.missing
    throw cause
  })
  if (file === undefined || file === damages.missing) return { damage: file ?? damages.foreign }
  try {
    const hash = createHash('sha256')
    await hashStart(file, bytes, hash)
    if (hash.copy().digest('hex') === expected) return { hash }
    return { damage: damages.changed }
  } finally {
    await file.close()
  }
}

/** Why a file is not continued. */
export const damages = {
  /** Also what a power cut within a removal leaves. */
  missing: 'its file is missing',
  foreign: 'its file is no regular file of the runtime',
  changed: 'its file has other content than was sent',
} as const

const hint =
  'Send the archive to POST /mcm/v1/uploads again. Uploads are stored for images.partialAge after their last byte.'
const shown = (handle: string): string => JSON.stringify(handle.slice(0, 80))

export const missingUpload = (handle: string): RpcError =>
  new RpcError('not_found', `there is no upload ${shown(handle)}`, { hint })

/** @param damage such as "its file has other content than was sent" */
export const damagedUpload = (handle: string, damage: string): RpcError =>
  new RpcError('not_found', `the upload ${shown(handle)} was removed: ${damage}`, { hint })
