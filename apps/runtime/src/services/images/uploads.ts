/** Archives that were sent ahead of the call that deploys them. They are stored for their owner, for an hour or until they are used. */
import { rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { RpcError, type UploadReceipt } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { safely } from '@selvedge/service-kit/safely'
import { makeFolder } from '@selvedge/service-kit/store'
import { isKeyOf, keyOf, type Owner } from '../deployments/ownership.ts'
import type { Blobs } from './blobs.ts'

const keptForMs = 3_600_000
/** Uploads that are stored, and uploads that arrive at the same time. */
const maxUploads = 8

interface Uploads {
  receive(owner: Owner, content: AsyncIterable<Uint8Array>): Promise<UploadReceipt>
  /** The file behind a handle of the owner. @throws RpcError `not_found` */
  pathOf(owner: Owner, handle: string): string
  forget(owner: Owner, handle: string): Promise<void>
  /** Removes what other accounts sent. */
  keepOnly(accountId: string): Promise<void>
}

interface Upload {
  readonly path: string
  readonly time: number
  /** The owner: account and client. */
  readonly owner: string
}

export async function openUploads(folder: string, blobs: Blobs, clock: Clock): Promise<Uploads> {
  await rm(folder, { recursive: true, force: true })
  makeFolder(folder)
  /** Oldest first. */
  const received = new Map<string, Upload>()
  let arriving = 0

  /** Beyond the limit the owner who has most loses the oldest one. */
  function findSurplus(): string | undefined {
    if (received.size <= maxUploads) return undefined
    const byOwner = Map.groupBy(received, ([, { owner }]) => owner)
    const [most] = [...byOwner.values()].sort((one, other) => other.length - one.length)
    return most?.[0]?.[0]
  }

  /** Removes what is older than an hour, and what is too much. */
  async function dropOld(): Promise<void> {
    for (const [key, { time }] of received) if (clock.now() - time >= keptForMs) await drop(key)
    for (let key = findSurplus(); key !== undefined; key = findSurplus()) await drop(key)
  }

  async function drop(key: string): Promise<void> {
    const upload = received.get(key)
    received.delete(key)
    if (upload) await rm(upload.path, { force: true })
  }

  async function store(owner: Owner, content: AsyncIterable<Uint8Array>): Promise<UploadReceipt> {
    const draft = await blobs.draft(content)
    const handle = draft.digest.replace('sha256:', 'upload:')
    const key = keyOf(owner, handle)
    await drop(key)
    const path = join(folder, basename(draft.path))
    await rename(draft.path, path)
    received.set(key, { path, time: clock.now(), owner: keyOf(owner, '') })
    await dropOld()
    setTimeout(safely('uploads.expire', dropOld), keptForMs + 1000).unref()
    return { handle, size: draft.size }
  }

  return {
    async receive(owner, content) {
      if (arriving >= maxUploads)
        throw new RpcError('busy', `${arriving} uploads are in progress; the limit is ${maxUploads}`)
      arriving++
      return store(owner, content).finally(() => {
        arriving--
      })
    },
    pathOf(owner, handle) {
      const upload = received.get(keyOf(owner, handle))
      if (upload) return upload.path
      throw new RpcError('not_found', `there is no upload ${JSON.stringify(handle.slice(0, 80))}`, {
        hint: 'Send the archive to POST /mcm/v1/uploads again. An upload is stored for one hour.',
      })
    },
    forget: (owner, handle) => drop(keyOf(owner, handle)),
    async keepOnly(accountId) {
      for (const key of received.keys()) if (!isKeyOf(key, accountId)) await drop(key)
    },
  }
}
