/** Whether a daemon wants requests. */
export interface Readiness {
  /** Started, and not about to stop: a load balancer sends requests only then. */
  isReady(): boolean
  /** About to stop: requests are still answered, and each connection closes after its answer. */
  isDraining(): boolean
  /** Routes and methods that complete no request for a while and refuse new ones: such a daemon is not ready. */
  stalled(): readonly string[]
  /** @param listener called when the list of {@link stalled} changed */
  onStalled(listener: (names: readonly string[]) => void): void
}

export interface OwnReadiness extends Readiness {
  /** The daemon has started. */
  setReady(): void
  /** The daemon is about to stop. */
  setDraining(): void
  setStalled(names: readonly string[]): void
}

export function createReadiness(): OwnReadiness {
  let state: 'starting' | 'ready' | 'draining' = 'starting'
  let stalled: readonly string[] = []
  const listeners: ((names: readonly string[]) => void)[] = []
  return {
    isReady: () => state === 'ready' && stalled.length === 0,
    isDraining: () => state === 'draining',
    stalled: () => stalled,
    onStalled: (listener) => void listeners.push(listener),
    setReady() {
      if (state === 'starting') state = 'ready'
    },
    setDraining() {
      state = 'draining'
    },
    setStalled(names) {
      if (names.join() === stalled.join()) return
      stalled = names
      for (const listener of listeners) listener(names)
    },
  }
}

/** For programs that are not drained, such as those of tests. */
export const alwaysReady: Readiness = {
  isReady: () => true,
  isDraining: () => false,
  stalled: () => [],
  onStalled: () => undefined,
}
