import { createReadStream, type ReadStream } from 'node:fs'
import type { ClientRequest } from 'node:http'

/** Milliseconds to wait for an answer to the headers: a server need not know `Expect` (RFC 9110 § 10.1.1). */
const expectMs = 1000

/**
 * Sends a file as the body of a request with the header `Expect: 100-continue`: after the server has agreed, or a second later. A
 * server that refuses the request may then close the connection, and its answer is not lost with what was sent into it. The rest of the
 * file is not sent once the answer begins.
 *
 * @param from position of the first byte that is sent
 * @param onSent called with the bytes of each piece
 * @param onUnreadable called with the reason why the file cannot be read
 */
export function sendFile(
  request: ClientRequest,
  { path, from = 0 }: { readonly path: string; readonly from?: number },
  onSent: (bytes: number) => void,
  onUnreadable: (cause: Error) => void,
): void {
  let content: ReadStream | undefined
  const begin = () => {
    clearTimeout(waiting)
    if (content) return
    content = createReadStream(path, { start: from })
    content.on('data', (chunk) => onSent(chunk.length))
    content.on('error', onUnreadable)
    content.pipe(request)
  }
  const stop = () => {
    clearTimeout(waiting)
    request.off('continue', begin)
    content?.unpipe(request)
    content?.destroy()
  }
  const waiting = setTimeout(begin, expectMs)
  request.once('continue', begin)
  request.once('response', stop)
  request.once('close', stop)
}
