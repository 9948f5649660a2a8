/**
 * What a program without a handler fails with while it starts: an error that nothing catches ends it in Node.js, and is why it never listens. Of other
 * functions, such errors are only written to the log.
 */
import { afterEvents } from '../sockets/node.ts'

export interface StartFailures {
  /** Resolves when the program has started. @param listening resolves when its server listens @throws (rejects) the first error that nothing caught */
  whenDone(listening: Promise<void> | undefined): Promise<void>
  close(): void
}

export function watchStart(
  target: Pick<EventTarget, 'addEventListener' | 'removeEventListener'> = globalThis,
): StartFailures {
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => undefined)
  const onError = (event: Event) => failed.reject((event as ErrorEvent).error)
  const onRejection = (event: Event) => failed.reject((event as PromiseRejectionEvent).reason)
  target.addEventListener('error', onError)
  target.addEventListener('unhandledrejection', onRejection)
  return {
    async whenDone(listening) {
      await Promise.race([listening, failed.promise])
      // The error of a second server comes in an event of its own.
      await Promise.race([new Promise<void>((resolve) => afterEvents(resolve)), failed.promise])
    },
    close() {
      target.removeEventListener('error', onError)
      target.removeEventListener('unhandledrejection', onRejection)
    },
  }
}
