/** Work of an owner, which ends when it is not wanted any more: its account has left the device, or its project was removed. */
import type { RpcError } from '@selvedge/protocol'
import { safely } from '@selvedge/service-kit/safely'
import type { Owner } from '../deployments/ownership.ts'

/** @param end called once, with why it is not wanted @returns what to call after the work */
export type WatchWanted = (owner: Owner, end: (cause: RpcError) => void) => () => void

/** Does work of an owner. The signal aborts with an RpcError when the work is not wanted any more. */
export type WhileWanted = <T>(owner: Owner, work: (signal: AbortSignal) => Promise<T>) => Promise<T>

export const createWhileWanted =
  (watch: WatchWanted): WhileWanted =>
  async (owner, work) => {
    const unwanted = new AbortController()
    const stop = watch(owner, (cause) => unwanted.abort(cause))
    try {
      return await work(unwanted.signal)
    } finally {
      stop()
    }
  }

/**
 * The same chunks, until the signal aborts. The source may still wait for its next chunk then, and is to be closed by its owner.
 *
 * @throws the reason of the signal
 */
export async function* wantedChunks(
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const chunks = content[Symbol.asyncIterator]()
  const ended = Promise.withResolvers<never>()
  const end = safely('images.unwanted', () => ended.reject(signal.reason))
  ended.promise.catch(() => undefined)
  signal.addEventListener('abort', end, { once: true })
  try {
    for (;;) {
      signal.throwIfAborted()
      const coming = chunks.next()
      coming.catch(() => undefined)
      const { value, done } = await Promise.race([coming, ended.promise])
      if (done) return
      yield value
    }
  } finally {
    signal.removeEventListener('abort', end)
    // Not awaited: a source that waits for its next chunk ends only after that.
    chunks.return?.()?.catch(() => undefined)
  }
}
