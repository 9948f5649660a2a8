import { statfs } from 'node:fs/promises'
import { RpcError } from '@selvedge/protocol'

/** Bytes between two looks at the disk while content arrives. */
const interval = 16 * 1024 * 1024

export interface DiskGuard {
  /**
   * Makes sure that a number of bytes fits and the reserve stays free; removes unused images where that helps.
   *
   * @throws RpcError `storage_full`
   */
  claim(bytes: number): Promise<void>
  /** Passes a stream on, and looks at the disk as it grows. */
  watch(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>
}

/**
 * @param folder on the disk that is guarded
 * @param reserve bytes that stay free whatever is deployed: a full disk takes the whole device down
 * @param collect removes one unused image; gives false where there is none left
 */
export function createDiskGuard(folder: string, reserve: number, collect: () => Promise<boolean>): DiskGuard {
  const free = async (): Promise<number> => {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  }
  async function claim(bytes: number): Promise<void> {
    let available = await free()
    while (available - bytes < reserve) {
      if (!(await collect())) {
        throw new RpcError(
          'storage_full',
          `${bytes} more bytes would leave ${Math.max(0, available - bytes)} free; ${reserve} are kept in reserve (images.reserve)`,
          {
            hint: 'Remove images or containers that are not needed, or free space on the disk of the state folder.',
          },
        )
      }
      available = await free()
    }
  }
  return {
    claim,
    async *watch(content) {
      let since = interval
      for await (const chunk of content) {
        since += chunk.length
        if (since >= interval) {
          since = 0
          await claim(interval)
        }
        yield chunk
      }
    },
  }
}
