/** Content that has to arrive fast enough: no sender occupies a place on the device by sending slowly. */

import { safely } from '@selvedge/service-kit/safely'

export interface Pace {
  /** Whenever so many milliseconds were spent waiting … */
  readonly windowMs: number
  /** … so many bytes must have come. */
  readonly minBytes: number
  /** Milliseconds until the content must be complete. */
  readonly totalMs: number
}

/**
 * The same chunks, until they arrive too slowly. The time of the reader counts for `totalMs` only.
 *
 * @param refuse makes the error to throw; the source may still wait for its next chunk then, and is to be closed by its owner
 */
export async function* paced(
  content: AsyncIterable<Uint8Array>,
  { windowMs, minBytes, totalMs }: Pace,
  refuse: (why: string) => Error,
): AsyncGenerator<Uint8Array> {
  const chunks = content[Symbol.asyncIterator]()
  const end = performance.now() + totalMs
  let waited = 0
  let received = 0
  try {
    for (;;) {
      const from = performance.now()
      const { value, done } = await within(chunks.next(), windowMs - waited, () =>
        refuse(`fewer than ${minBytes} bytes came within ${windowMs / 1000} s`),
      )
      if (done) return
      const now = performance.now()
      if (now > end) throw refuse(`it did not arrive within ${totalMs / 3_600_000} hours`)
      waited += now - from
      received += value.length
      if (received >= minBytes) waited = received = 0
      yield value
    }
  } finally {
    // Not awaited: a source that waits for its next chunk ends only after that.
    chunks.return?.()?.catch(() => undefined)
  }
}

/** What a promise resolves with. @throws what `refuse` makes, after a number of milliseconds */
export async function within<T>(promise: Promise<T>, ms: number, refuse: () => Error): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    safely('images.late', () => late.reject(refuse())),
    Math.max(0, ms),
  )
  try {
    return await Promise.race([promise, late.promise])
  } finally {
    clearTimeout(timer)
    promise.catch(() => undefined)
  }
}
