import { type Clock, isoTime } from '@selvedge/service-kit/clock'

interface LinkStatus {
  /** null until it was tried for the first time. */
  readonly reachable: boolean | null
  readonly since: string | null
  readonly lastError?: string
}

/** The state of the connection to one service. */
export interface Link {
  succeeded(): void
  failed(error: string): void
  /** The same object until something changes. */
  status(): LinkStatus
}

/** @param onChange called when the state changed */
export function createLink(clock: Clock, onChange: () => void = () => undefined): Link {
  let status: LinkStatus = { reachable: null, since: null }
  const sinceFor = (reachable: boolean) =>
    status.reachable === reachable && status.since !== null ? status.since : isoTime(clock.now())
  return {
    succeeded() {
      if (status.reachable === true) return
      status = { reachable: true, since: sinceFor(true) }
      onChange()
    },
    failed(error) {
      status = { reachable: false, since: sinceFor(false), lastError: error }
      onChange()
    },
    status: () => status,
  }
}
