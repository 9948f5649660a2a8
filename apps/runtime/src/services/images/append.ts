/** Adds bytes to an upload that arrives in parts. */
import { open } from 'node:fs/promises'
import { RpcError } from '@selvedge/protocol'
import type { StoredUpload } from './stored-uploads.ts'

/** Ends the request that adds bytes at present: the client that sends a later one has lost that connection. Never rejects. */
export async function takeOver(upload: StoredUpload): Promise<void> {
  upload.writer?.end()
  await upload.writer?.complete
}

/**
 * @param from position of the first byte
 * @param content is given the number of bytes that are missing
 * @param end ends the content
 * @throws RpcError `conflict` if the position is not the next one, `invalid_params` for more bytes than are missing; what the content throws;
 * NodeJS.ErrnoException of the disk. What was written before stays
 */
export async function appendTo(
  upload: StoredUpload,
  from: number,
  content: (left: number) => AsyncIterable<Uint8Array>,
  end: () => void,
): Promise<void> {
  // Of two that wait, the second one ends the first.
  while (upload.writer) await takeOver(upload)
  if (upload.deployed || from !== upload.bytes)
    throw new RpcError('conflict', `the next byte of the upload is ${upload.bytes}, not ${from}`, {
      hint: 'Read its offset with HEAD, and continue there.',
    })
  const writing = write(upload, content(upload.length - upload.bytes))
  const writer = { end, complete: writing.catch(() => undefined) }
  upload.writer = writer
  try {
    await writing
  } finally {
    upload.writer = undefined
  }
}

async function write(upload: StoredUpload, content: AsyncIterable<Uint8Array>): Promise<void> {
  const handle = await open(upload.path, 'r+')
  try {
    for await (const chunk of content) {
      if (chunk.length > upload.length - upload.bytes)
        throw new RpcError('invalid_params', `the upload has ${upload.length} bytes, and more were sent`)
      for (let at = 0; at < chunk.length; ) {
        const { bytesWritten } = await handle.write(chunk, at, chunk.length - at, upload.bytes)
        at += bytesWritten
        upload.bytes += bytesWritten
      }
    }
  } finally {
    await handle.close()
  }
}
