import { statfs } from 'node:fs/promises'
import { RpcError } from '@selvedge/protocol'
import { protection } from './limits.ts'

/** Bytes between two checks of the disk while content arrives. */
const checkIntervalBytes = 16 * 1024 * 1024

/** The disk, for what one owner deploys. */
export interface DiskGuard {
  /**
   * Refuses what can't fit, however much room is made. It removes nothing and reserves nothing: a number of bytes that was announced
   * may be wrong.
   *
   * @throws RpcError `storage_full`
   */
  expectRoom(bytes: number): Promise<void>
  /**
   * Passes a stream on. As it arrives, what is unused is removed where it needs room.
   *
   * @param length bytes that are expected; 0 if it is unknown
   * @throws RpcError `storage_full`
   */
  watch(content: AsyncIterable<Uint8Array>, length?: number): AsyncGenerator<Uint8Array>
}

/** Something that can be removed to make room. */
export interface Removable {
  readonly bytes: number
  remove(): Promise<void>
}

/**
 * @param folder on the disk that is guarded
 * @param reserve bytes that stay free whatever is deployed: a full disk stops the whole device
 * @param removable what may be removed for the owner, in this order, when so many bytes of each other owner are protected
 */
export function createDiskGuard(
  folder: string,
  reserve: number,
  removable: (protectedBytes: number) => readonly Removable[],
): DiskGuard {
  /** What to remove first for a number of bytes; undefined if they fit. */
  async function nextFor(bytes: number): Promise<Removable | undefined> {
    const { bavail, blocks, bsize } = await statfs(folder)
    const free = bavail * bsize
    const missing = bytes + reserve - free
    if (missing <= 0) return undefined
    const found = removable(blocks * bsize * protection.partOfDisk)
    // Nothing is removed unless that makes enough room.
    if (found.reduce((sum, each) => sum + each.bytes, 0) >= missing) return found[0]
    throw new RpcError(
      'storage_full',
      `${bytes} more bytes would leave ${Math.max(0, free - bytes)} free; ${reserve} must stay free (images.reserve)`,
      {
        hint: 'Remove images or containers that are not needed, or free space on the disk of the state folder. What other projects deployed within the last day stays.',
      },
    )
  }

  async function makeRoom(bytes: number): Promise<void> {
    for (let next = await nextFor(bytes); next; next = await nextFor(bytes)) await next.remove()
  }

  return {
    async expectRoom(bytes) {
      await nextFor(bytes)
    },
    async *watch(content, length = 0) {
      let passed = 0
      /** Up to here there is room. */
      let checked = 0
      for await (const chunk of content) {
        passed += chunk.length
        while (passed > checked) {
          const left = length > checked ? length - checked : checkIntervalBytes
          const next = Math.min(left, checkIntervalBytes)
          await makeRoom(next)
          checked += next
        }
        yield chunk
      }
    },
  }
}
