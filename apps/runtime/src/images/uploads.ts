/** Archives that were sent ahead of the call that deploys them. They are kept by digest, for an hour or until they are used. */
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { RpcError, type UploadReceipt } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { makeFolder } from '@selvedge/service-kit/store'
import type { Blobs } from './blobs.ts'

const keptFor = 3_600_000
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

  async function dropOld(): Promise<void> {
    const oldest = [...received].sort(([, a], [, b]) => a - b)
    for (const [at, [handle, time]] of oldest.entries()) {
      if (received.size - at <= maxUploads && clock.now() - time < keptFor) return
      received.delete(handle)
      await rm(fileOf(handle), { force: true })
    }
  }

  return {
    async receive(content) {
      await dropOld()
      const draft = await blobs.draft(content)
      const handle = draft.digest.replace('sha256:', 'upload:')
      await rename(draft.path, fileOf(handle))
      received.set(handle, clock.now())
      return { handle, size: draft.size }
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
    async forget(handle) {
      received.delete(handle)
      await rm(fileOf(handle), { force: true })
    },
  }
}
