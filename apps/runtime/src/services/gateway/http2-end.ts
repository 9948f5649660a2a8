import type { Http2Stream } from 'node:http2'

/**
 * Whether the other side has closed its half of a stream (END_STREAM). The library of Node.js gives the event `end` also when the
 * stream was reset with NO_ERROR, or its connection closed: then only the order shows it, because a stream closes before that `end`.
 *
 * @returns to be called from the event `end`
 */
export function watchEnd(stream: Http2Stream): () => boolean {
  // The frames that came together with the first one of the stream were read before it is known here.
  const { ended } = (stream as unknown as { readonly _readableState: { readonly ended: boolean } })
    ._readableState
  let isWhole = ended && !stream.closed && !stream.destroyed
  const push = stream.push.bind(stream)
  stream.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (chunk === null && !stream.closed && !stream.destroyed) isWhole = true
    return push(chunk, encoding)
  }
  return () => isWhole
}
