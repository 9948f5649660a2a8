import type { IncomingMessage } from 'node:http'
import { safely } from '../safely/safely.ts'

/** Bytes of a body that is read and parsed at once; a larger one may have to wait, or is refused while there are many. */
export const smallBody = 64 * 1024

/**
 * Collects a request's body. Callbacks instead of a promise: this is the hot path.
 *
 * @param limit bytes
 * @param done gets the body, or undefined as soon as it is larger than `limit`, or large and not admitted. It is not called if
 *   the client goes away.
 * @param admitLarge asked once, when more than {@link smallBody} bytes have come; gives whether there is room for more
 */
export function readBody(
  request: IncomingMessage,
  limit: number,
  done: (body: Buffer | undefined) => void,
  admitLarge: () => boolean = () => true,
): void {
  let first: Buffer | undefined
  let more: Buffer[] | undefined
  let size = 0
  let isLarge = false
  const end = () => request.destroy()
  const onData = safely(
    'http.body',
    (chunk: Buffer) => {
      size += chunk.length
      if (size > limit || (size > smallBody && !isLarge && !admitLarge())) {
        request.off('data', onData)
        request.off('end', onEnd)
        done(undefined)
        return
      }
      isLarge = size > smallBody
      if (first === undefined) first = chunk
      else if (more === undefined) more = [first, chunk]
      else more.push(chunk)
    },
    end,
  )
  const onEnd = safely(
    'http.body',
    () => done(more ? Buffer.concat(more, size) : (first ?? Buffer.alloc(0))),
    end,
  )
  request.on('data', onData)
  request.on('end', onEnd)
}
