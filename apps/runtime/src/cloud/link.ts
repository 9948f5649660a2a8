import { type Clock, isoTime } from '@selvedge/service-kit/clock'

export interface LinkStatus {
  /** null until it was tried for the first time. */
  readonly reachable: boolean | null
  readonly since: string | null
  readonly lastError?: string
}

/** What is known of the way to one service. */
export interface Link {
  readonly reachable: boolean | null
  succeeded(): void
  failed(error: string): void
  status(): LinkStatus
}

export function createLink(clock: Clock): Link {
  let reachable: boolean | null = null
  let since = 0
  let lastError = ''
  const change = (now: boolean) => {
    if (reachable !== now) since = clock.now()
    reachable = now
  }
  return {
    get reachable() {
      return reachable
    },
    succeeded() {
      change(true)
      lastError = ''
    },
    failed(error) {
      change(false)
      lastError = error
    },
    status: () => ({
      reachable,
      since: reachable === null ? null : isoTime(since),
      ...(lastError !== '' && { lastError }),
    }),
  }
}
