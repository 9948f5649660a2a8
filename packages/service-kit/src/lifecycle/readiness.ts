/** Whether a daemon wants requests. */
export interface Readiness {
  /** Started, and not about to stop: a load balancer sends requests only then. */
  isReady(): boolean
  /** About to stop: requests are still answered, and each connection closes after its answer. */
  isDraining(): boolean
}

export interface OwnReadiness extends Readiness {
  /** The daemon has started. */
  setReady(): void
  /** The daemon is about to stop. */
  setDraining(): void
}

export function createReadiness(): OwnReadiness {
  let state: 'starting' | 'ready' | 'draining' = 'starting'
  return {
    isReady: () => state === 'ready',
    isDraining: () => state === 'draining',
    setReady() {
      if (state === 'starting') state = 'ready'
    },
    setDraining() {
      state = 'draining'
    },
  }
}

/** For programs that are not drained, such as those of tests. */
export const alwaysReady: Readiness = { isReady: () => true, isDraining: () => false }
