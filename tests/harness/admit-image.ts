/** Puts an archive into a store of blobs as the runtime does, without a document. */
import { inspectImage } from '../../apps/runtime/src/services/images/admit.ts'
import { readArchive } from '../../apps/runtime/src/services/images/archive.ts'
import type { Blobs } from '../../apps/runtime/src/services/images/blobs.ts'

/** @param take is called with the bytes that are read and unpacked @throws RpcError; then nothing is left of it */
export async function admitImage(
  blobs: Blobs,
  archive: AsyncIterable<Uint8Array>,
  take: (bytes: number) => void = () => undefined,
): ReturnType<Awaited<ReturnType<typeof inspectImage>>['commit']> {
  const inspected = await inspectImage(blobs, await readArchive(blobs, archive, take), take)
  try {
    return await inspected.commit()
  } finally {
    await inspected.discard()
  }
}
