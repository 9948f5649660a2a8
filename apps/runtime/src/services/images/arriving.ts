/** Archives that clients send. */
import { RpcError } from '@selvedge/protocol'
import { uploadPace } from './limits.ts'
import { paced } from './paced.ts'
import { wantedChunks } from './wanted.ts'

/** Refused before anything is removed or stored for it. @param length bytes, as they were announced @throws RpcError */
export function expectSize(length: number, maxSize: number): void {
  if (length <= maxSize) return
  throw new RpcError(
    'invalid_image',
    `the archive has ${length} bytes; the limit is ${maxSize} (images.maxSize)`,
  )
}

export const tooSlow = (why: string): RpcError =>
  new RpcError('limit_exceeded', `the archive arrives too slowly: ${why}`, {
    hint: 'Send it again over a faster connection, or deploy it from a registry.',
  })

/**
 * The chunks of an archive, as long as they arrive fast enough and are wanted.
 *
 * @throws RpcError `limit_exceeded`, or the reason of the signal
 */
export const arriving = (
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> => paced(wantedChunks(content, signal), uploadPace, tooSlow)
