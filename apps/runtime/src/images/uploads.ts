/** Archives that were sent ahead of the call that deploys them. They are kept by digest, for an hour or until they are used. */
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { RpcError, type UploadReceipt } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { safely } from '@selvedge/service-kit/safely'
import { makeFolder } from '@selvedge/service-kit/store'
import type { Blobs } from './blobs.ts'

const keptForMs = 3_600_000
/** Uploads that are stored, and uploads that arrive at the same time. */
const maxUploads = 8

interface Uploads {
  receive(content: AsyncIterable<Uint8Array>): Promise<UploadReceipt>
  /** The file behind a handle. @throws RpcError `not_found` */
  pathOf(handle: string): Promise<string>
  forget(handle: string): Promise<void>
}

export async function openUploads(folder: string, blobs: Blobs, clock: Clock): Promise<Uploads> {
  await rm(folder, { recursive: true, force: true })
  makeFolder(folder)
  const received = new Map<string, number>()
  const fileOf = (handle: string) => join(folder, handle.replace('upload:', ''))

  let arriving = 0

  /** Removes what is older than an hour, and the oldest beyond the limit. */
  async function dropOld(): Promise<void> {
    const oldest = [...received].sort(([, a], [, b]) => a - b)
    for (const [at, [handle, time]] of oldest.entries()) {
      if (oldest.length - at <= maxUploads && clock.now() - time < keptForMs) return
      await forget(handle)
    }
  }

  async function forget(handle: string): Promise<void> {
    received.delete(handle)
    await rm(fileOf(handle), { force: true })
  }

  async function store(content: AsyncIterable<Uint8Array>): Promise<UploadReceipt> {
    const draft = await blobs.draft(content)
    const handle = draft.digest.replace('sha256:', 'upload:')
    await rename(draft.path, fileOf(handle))
    received.set(handle, clock.now())
    await dropOld()
    setTimeout(safely('uploads.expire', dropOld), keptForMs + 1000).unref()
    return { handle, size: draft.size }
  }

  return {
    async receive(content) {
      if (arriving >= maxUploads)
        throw new RpcError('busy', `${arriving} uploads arrive already; the limit is ${maxUploads}`)
      arriving++
      return store(content).finally(() => {
        arriving--
      })
    },
    async pathOf(handle) {
      const name = /^upload:([0-9a-f]{64})$/.exec(handle)?.[1]
      if (
        name === undefined ||
        !(await readdir(folder)).includes(name) ||
        !(await stat(fileOf(handle))).isFile()
      ) {
        throw new RpcError('not_found', `there is no upload ${JSON.stringify(handle.slice(0, 80))}`, {
          hint: 'Send the archive to POST /mcm/v1/uploads again; it is kept for an hour.',
        })
      }
      return fileOf(handle)
    },
    forget,
  }
}
