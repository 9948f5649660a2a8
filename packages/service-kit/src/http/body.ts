import type { IncomingMessage } from 'node:http'

/** How much of an oversized body is swallowed, so that the client reads the refusal instead of a broken connection. */
const swallowed = 16 * 1024 * 1024

/**
 * Collects a request's body. Callbacks instead of a promise: this is the hot path.
 *
 * @param done gets the body, or undefined where it is larger than `limit` bytes
 */
export function readBody(
  request: IncomingMessage,
  limit: number,
  done: (body: Buffer | undefined) => void,
): void {
  let first: Buffer | undefined
  let more: Buffer[] | undefined
  let size = 0
  const onData = (chunk: Buffer) => {
    size += chunk.length
    if (size > limit) {
      first = undefined
      more = undefined
      if (size > limit + swallowed) {
        request.off('end', onEnd)
        request.off('data', onData)
        done(undefined)
      }
    } else if (first === undefined) first = chunk
    else if (more === undefined) more = [first, chunk]
    else more.push(chunk)
  }
  const onEnd = () => {
    if (size > limit) done(undefined)
    else done(more ? Buffer.concat(more, size) : (first ?? Buffer.alloc(0)))
  }
  request.on('data', onData)
  request.on('end', onEnd)
}
