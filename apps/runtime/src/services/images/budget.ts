/** How many bytes an image may have. */
import { RpcError } from '@selvedge/protocol'

/**
 * Counts the bytes of one image.
 *
 * @param maxSize bytes of an image, packed or unpacked
 * @returns to be called with each number of bytes that is read; throws RpcError `invalid_image` when they are too many
 */
export function createBudget(maxSize: number): (bytes: number) => void {
  let left = maxSize
  return (bytes) => {
    left -= bytes
    if (left < 0)
      throw new RpcError('invalid_image', `the image unpacks to more than ${maxSize} bytes (images.maxSize)`)
  }
}

/** The same chunks; `take` is called with the size of each before it is passed on. */
export async function* measured(
  content: AsyncIterable<Uint8Array>,
  take: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    take(chunk.length)
    yield chunk
  }
}
