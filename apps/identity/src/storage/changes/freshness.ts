/** How old the knowledge of this process about the changes is. */
import { OAuthError } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'

export interface Freshness {
  /** The present instant, for {@link Freshness.read}. */
  instant(): Instant
  /** A poll that began at an instant has succeeded. */
  read(begun: Instant): void
  /** A poll failed. */
  failed(): void
  /** A change of this process may be missing in its own memory, until a poll succeeds. */
  setBehind(): void
  /**
   * Whether this process must decide nothing: it is behind, or the last successful poll is older than the maximum age. A store of
   * one process has no maximum age.
   */
  isOutdated(): boolean
  /** Milliseconds since the last successful poll began; undefined for a store of one process, which is polled when needed. */
  ageMs(): number | undefined
  /** Whether the last failure was at most this many milliseconds ago. */
  failedWithin(ms: number): boolean
}

interface Instant {
  readonly monotonic: number
  readonly system: number
}

export interface FreshnessParts {
  readonly isShared: boolean
  /** The clock of the machine: the monotonic one stops while a machine sleeps. */
  readonly system: Clock
  /** Milliseconds that only grow. */
  readonly monotonic: () => number
  readonly maxAgeMs: number
}

export function createFreshness({ isShared, system, monotonic, maxAgeMs }: FreshnessParts): Freshness {
  const instant = () => ({ monotonic: monotonic(), system: system.now() })
  let readAt: Instant = instant()
  let failedAt = Number.NEGATIVE_INFINITY
  let isBehind = false
  const ageMs = () => Math.max(monotonic() - readAt.monotonic, system.now() - readAt.system)
  return {
    instant,
    read(begun) {
      readAt = begun
      isBehind = false
    },
    failed() {
      failedAt = monotonic()
    },
    setBehind() {
      isBehind = true
    },
    ageMs: () => (isShared ? Math.max(0, ageMs()) : undefined),
    isOutdated: () => isBehind || (isShared && ageMs() > maxAgeMs),
    failedWithin: (ms) => monotonic() - failedAt <= ms,
  }
}

/** What this process knows is outdated: it decides nothing. */
export class OutdatedError extends OAuthError {
  constructor() {
    const message = 'this server cannot see what was revoked or changed; try again, or ask another server'
    super('temporarily_unavailable', message, { retryAfter: 1, status: 503 })
  }
}

/** @throws OutdatedError if what this process knows is outdated */
export function refuseIfOutdated(isOutdated: boolean): void {
  if (isOutdated) throw new OutdatedError()
}
