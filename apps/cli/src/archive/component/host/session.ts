/** One request to a component, which has an instance of the component for itself. */

export interface Session {
  /** Aborts when the request is over: all that waits for it fails, and its timers and connections end. */
  readonly signal: AbortSignal
}

/** Resolves with the first of some promises; fails when the session ends. Nothing stays registered on the signal. */
export function waitForFirst(session: Session, waits: readonly Promise<unknown>[]): Promise<void> {
  const { signal } = session
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void) => {
      signal.removeEventListener('abort', abort)
      finish()
    }
    const abort = () => settle(() => reject(signal.reason))
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort)
    for (const each of waits)
      each.then(
        () => settle(resolve),
        () => settle(resolve),
      )
  })
}
