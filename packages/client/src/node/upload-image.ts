/** Uploads of archives. */
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { type ImageRecord, mcmPaths } from '@selvedge/protocol'
import { deployUpload, patience, sendInParts } from './in-parts.ts'
import { readJson, type SentFile, type StreamConnection, send } from './streams.ts'

/** Bytes of an archive that one request sends. */
const wholeBytes = 8_000_000

/**
 * Deploys an archive from a file on this machine, as a stream. One of more than 8 MB continues after a cut where it stopped, without what has
 * arrived being sent again.
 *
 * @param onProgress called with the bytes sent so far, and the total
 * @param name of the image on the device; absent: what the archive has, else the name of the file
 * @param onWait called when the connection broke, with why, and the seconds until it is tried again
 * @throws RpcFailure | ConnectionFailure
 *
 * @example
 * ```ts
 * import { uploadImage } from '@selvedge/client/node'
 *
 * const connection = { url: 'http://127.0.0.1:8083', edgeAccessToken: process.env.ACCESS_TOKEN! }
 * const image = await uploadImage(connection, 'hello-1.0.0.tar')
 * console.log(image.id)
 * ```
 */
export async function uploadImage(
  connection: StreamConnection,
  path: string,
  onProgress: (sent: number, total: number) => void = () => undefined,
  name?: string,
  onWait: (cause: Error, seconds: number) => void = () => undefined,
): Promise<ImageRecord> {
  const { size } = await stat(path)
  const file = { path, size, onProgress }
  if (size > wholeBytes) {
    const handle = await sendInParts(connection, file, { ...patience, onWait })
    if (handle !== undefined) return deployUpload(connection, handle, name, { ...patience, onWait })
  }
  return sendWhole(connection, file, name)
}

async function sendWhole(connection: StreamConnection, file: SentFile, name?: string): Promise<ImageRecord> {
  const { path, size } = file
  const headers = {
    'Content-Type': 'application/x-tar',
    'Content-Length': String(size),
    'Content-Disposition': `attachment; filename*=UTF-8''${encodeURIComponent(basename(path))}`,
    Expect: '100-continue',
  }
  const query = name === undefined ? '' : `?name=${encodeURIComponent(name)}`
  const response = await send(connection, 'POST', mcmPaths.images + query, headers, { file })
  try {
    return (await readJson(response)) as ImageRecord
  } finally {
    // After an early answer, the request is never complete.
    response.destroy()
  }
}
