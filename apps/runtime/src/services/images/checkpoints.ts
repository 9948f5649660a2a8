/**
 * How much of an upload survives a stop of the runtime and a power cut. While bytes arrive, they are made durable at most once a second, and
 * only 256 KiB or more; and once more when their request ends. So a stop costs what arrived within the last second, or less than 256 KiB.
 * Each time costs three syncs: of the bytes, of the note, and of their folder. The bytes that arrive do not wait for them.
 */
import { inBackground } from '@selvedge/service-kit/safely'
import { shareRun } from '@selvedge/service-kit/share'
import type { StoredUpload } from './stored-upload.ts'

const minBytes = 256 * 1024
const minMs = 1000

export interface Checkpoints {
  /** To be called after bytes were written. @throws what the last `save` threw */
  passed(): void
  /** Makes all bytes durable. If that fails, those that are not durable count as missing. @throws what `save` throws */
  complete(): Promise<void>
}

/**
 * @param save makes the first bytes durable, with their SHA-256; one call at a time
 * @param now monotonic milliseconds
 */
export function createCheckpoints(
  upload: StoredUpload,
  save: (bytes: number, digest: string) => Promise<void>,
  now: () => number,
): Checkpoints {
  const present = () => ({ bytes: upload.bytes, hash: upload.hash!.copy() })
  let durable = present()
  let last = Number.NEGATIVE_INFINITY
  let failure: { readonly cause: unknown } | undefined

  const store = shareRun(async () => {
    const next = present()
    try {
      await save(next.bytes, next.hash.copy().digest('hex'))
      durable = next
    } catch (cause) {
      // The disk may have dropped the bytes: the next sync of this file proves nothing.
      failure = { cause }
    }
  }, 'checkpoint of an upload')

  return {
    passed() {
      if (failure) throw failure.cause
      if (store.present() || upload.bytes - durable.bytes < minBytes || now() - last < minMs) return
      last = now()
      inBackground('uploads.checkpoint', store())
    },
    async complete() {
      await store.present()
      if (!failure && upload.bytes > durable.bytes) await store()
      if (!failure) return
      upload.bytes = durable.bytes
      upload.hash = durable.hash
      throw failure.cause
    },
  }
}
