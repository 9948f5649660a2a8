/**
 * Downloads a layer again from its start if several answers together are not the layer: one of them had other bytes than its range. A layer
 * that came in one answer and is wrong is wrong at the registry.
 */
import { RpcError } from '@selvedge/protocol'
import type { HttpGet } from './http-get.ts'

/** Downloads of one layer from its start, after the first one. */
const maxRepeats = 2

interface Attempts {
  /** The same requests; notes answers that are a part of the layer. */
  readonly get: HttpGet
  /** The same chunks, counted. */
  count(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>
  /** To be called with bytes of the layer that are on the disk; a negative number if they were wrong. */
  found(bytes: number): void
  /** Does the work, and again after `digest_mismatch` if the layer had several answers. @throws RpcError what the last attempt throws */
  run<T>(work: () => Promise<T>): Promise<T>
}

/** For one layer. @param onFound called with what `found` gets, and with a negative number for the bytes of an attempt that was wrong */
export function createAttempts(get: HttpGet, onFound: (bytes: number) => void): Attempts {
  let hasParts = false
  let bytes = 0
  const found = (more: number) => {
    bytes += more
    onFound(more)
  }

  return {
    found,
    async get(...asked) {
      const answer = await get(...asked)
      hasParts ||= answer.status === 206
      return answer
    },
    async *count(chunks) {
      for await (const chunk of chunks) {
        bytes += chunk.length
        yield chunk
      }
    },
    async run(work) {
      for (let repeats = 0; ; repeats++) {
        try {
          return await work()
        } catch (cause) {
          const isWrong = cause instanceof RpcError && cause.reason === 'digest_mismatch'
          if (!isWrong || !hasParts || repeats >= maxRepeats) throw cause
          hasParts = false
          found(-bytes)
        }
      }
    },
  }
}
