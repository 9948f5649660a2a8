import { statfs } from 'node:fs/promises'
import { RpcError } from '@selvedge/protocol'

/** Bytes between two checks of the disk while content arrives. */
const checkIntervalBytes = 16 * 1024 * 1024

export interface DiskGuard {
  /**
   * Makes sure that a number of bytes fits and the reserve stays free; removes unused images where that helps.
   *
   * @throws RpcError `storage_full`
   */
  claim(bytes: number): Promise<void>
  /** Passes a stream on, and checks the disk as it grows. */
  watch(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>
}

/** What may be removed to make room. */
export interface Unused {
  /** Bytes that it uses in all. */
  bytes(): number
  /** Removes the piece that is missed least; returns false if nothing is left. */
  removeOne(): Promise<boolean>
}

/**
 * @param folder on the disk that is guarded
 * @param reserve bytes that stay free whatever is deployed: a full disk stops the whole device
 */
export function createDiskGuard(folder: string, reserve: number, unused: Unused): DiskGuard {
  const free = async (): Promise<number> => {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  }
  async function claim(bytes: number): Promise<void> {
    let available = await free()
    // Removes nothing unless the removal makes enough room.
    let isPossible = available + unused.bytes() - bytes >= reserve
    while (isPossible && available - bytes < reserve) {
      isPossible = await unused.removeOne()
      available = await free()
    }
    if (isPossible) return
    throw new RpcError(
      'storage_full',
      `${bytes} more bytes would leave ${Math.max(0, available - bytes)} free; ${reserve} must stay free (images.reserve)`,
      {
        hint: 'Remove images or containers that are not needed, or free space on the disk of the state folder.',
      },
    )
  }
  return {
    claim,
    async *watch(content) {
      let since = checkIntervalBytes
      for await (const chunk of content) {
        since += chunk.length
        if (since >= checkIntervalBytes) {
          since = 0
          await claim(checkIntervalBytes)
        }
        yield chunk
      }
    },
  }
}
