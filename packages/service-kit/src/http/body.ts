import type { IncomingMessage } from 'node:http'
import { safely } from '../safely/safely.ts'

/**
 * Collects a request's body. Callbacks instead of a promise: this is the hot path.
 *
 * @param limit bytes
 * @param done gets the body, or undefined as soon as it is larger than `limit`. It is not called if the client goes away.
 */
export function readBody(
  request: IncomingMessage,
  limit: number,
  done: (body: Buffer | undefined) => void,
): void {
  let first: Buffer | undefined
  let more: Buffer[] | undefined
  let size = 0
  const end = () => request.destroy()
  const onData = safely(
    'http.body',
    (chunk: Buffer) => {
      size += chunk.length
      if (size > limit) {
        request.off('data', onData)
        request.off('end', onEnd)
        done(undefined)
      } else if (first === undefined) first = chunk
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
