/** When the lists of revoked tokens were last found to be the newest: by the time that the device counts, and across restarts. */
import type { Log } from '@selvedge/service-kit/log'
import { inBackground } from '@selvedge/service-kit/safely'
import { createLearnedStore } from '@selvedge/service-kit/store'
import type { DeviceClock } from '../time/device-clock.ts'
import type { LeaseStore } from './lease-record.ts'

export interface Confirmations {
  /** When the list of an issuer was last confirmed, in Unix milliseconds; 0: not known. */
  confirmedAt(issuer: string): number
  /** To be called each time that the list of an issuer was found to be the newest. */
  noteConfirmed(issuer: string): void
  /** To be called before the record closes. */
  stop(): Promise<void>
}

/** Milliseconds by which the stored time may be behind: an idle device writes four times a day. */
const stepMs = 6 * 3_600_000

export function createConfirmations({
  clock,
  record,
  log,
  retryTimes,
}: {
  readonly clock: DeviceClock
  readonly record: LeaseStore
  readonly log: Log
  /** For tests. */
  readonly retryTimes?: { readonly firstMs: number; readonly maxMs: number }
}): Confirmations {
  /** On the scale of `elapsed`: no clock that is set changes how long ago it was. */
  const confirmed = new Map<string, number>()
  const learned = createLearnedStore({ where: 'leases.confirmed', ...(retryTimes && { times: retryTimes }) })

  /** After a restart without a network, this is how the age of a list is known. Only a confirmed clock counts. */
  async function store(issuer: string): Promise<void> {
    const now = clock.now()
    const isRecent = Math.abs(now - (record.value.confirmedAt[issuer] ?? 0)) < stepMs
    if (isRecent || clock.state() !== 'trusted') return
    await learned.save(issuer, () =>
      record.update((value) => ({ ...value, confirmedAt: { ...value.confirmedAt, [issuer]: now } })),
    )
  }

  return {
    noteConfirmed(issuer) {
      confirmed.set(issuer, clock.elapsed())
      const stored = store(issuer).catch((cause) =>
        log.warn('that the list of revoked tokens is the newest could not be stored', { cause }),
      )
      inBackground('leases.confirmed', stored)
    },
    confirmedAt(issuer) {
      const at = confirmed.get(issuer)
      if (at !== undefined) return clock.now() - (clock.elapsed() - at)
      return record.value.confirmedAt[issuer] ?? 0
    },
    stop: learned.stop,
  }
}
