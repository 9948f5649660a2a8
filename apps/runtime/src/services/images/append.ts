/** Adds bytes to an upload that arrives in parts. */
import { RpcError } from '@selvedge/protocol'
import { createCheckpoints } from './checkpoints.ts'
import { openOwnFile } from './own-file.ts'
import { damagedUpload, damages, type StoredUpload } from './stored-upload.ts'

/** Ends the request that adds bytes at present: the client that sends a later one has lost that connection. Never rejects. */
export async function takeOver(upload: StoredUpload): Promise<void> {
  upload.writer?.end()
  await upload.writer?.complete
}

export interface AppendParts {
  /** Writes down how many bytes are on the disk, with their SHA-256. */
  readonly note: (bytes: number, digest: string) => Promise<void>
  /** Monotonic milliseconds. */
  readonly elapsed: () => number
}

/**
 * @param from position of the first byte
 * @param content is given the number of bytes that are missing
 * @param end ends the content
 * @throws RpcError `conflict` if the position is not the next one, `invalid_params` for more bytes than are missing, `not_found` if the file
 * is gone; what the content throws; NodeJS.ErrnoException of the disk. What was written before stays, if it is durable
 */
export async function appendTo(
  upload: StoredUpload,
  from: number,
  content: (left: number) => AsyncIterable<Uint8Array>,
  end: () => void,
  parts: AppendParts,
): Promise<void> {
  // Of two that wait, the second one ends the first.
  while (upload.writer) await takeOver(upload)
  if (upload.deployed || from !== upload.bytes)
    throw new RpcError('conflict', `the next byte of the upload is ${upload.bytes}, not ${from}`, {
      hint: 'Read its offset with HEAD, and continue there.',
    })
  if (!upload.hash) throw new RpcError('conflict', 'the upload was sent as a whole')
  const writing = write(upload, content(upload.length - upload.bytes), parts)
  const writer = { end, complete: writing.catch(() => undefined) }
  upload.writer = writer
  try {
    await writing
  } finally {
    upload.writer = undefined
  }
}

async function write(
  upload: StoredUpload,
  content: AsyncIterable<Uint8Array>,
  { note, elapsed }: AppendParts,
): Promise<void> {
  const handle = await openOwnFile(upload.path)
  if (!handle) throw damagedUpload(upload.handle, damages.foreign)
  const save = async (bytes: number, digest: string) => {
    await handle.datasync()
    await note(bytes, digest)
  }
  try {
    const checkpoints = createCheckpoints(upload, save, elapsed)
    try {
      for await (const chunk of content) {
        if (chunk.length > upload.length - upload.bytes)
          throw new RpcError('invalid_params', `the upload has ${upload.length} bytes, and more were sent`)
        for (let at = 0; at < chunk.length; )
          at += (await handle.write(chunk, at, chunk.length - at, upload.bytes + at)).bytesWritten
        upload.hash!.update(chunk)
        upload.bytes += chunk.length
        checkpoints.passed()
      }
    } finally {
      await checkpoints.complete()
    }
  } finally {
    await handle.close()
  }
}
