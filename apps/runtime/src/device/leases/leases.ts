/** Leases: work at this device while it cannot reach the identity service, who did it, and the report of that when it can again. */
import { type LeaseUse, leaseUseLimits } from '@selvedge/protocol/tokens'
import { isoTime } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { inBackground } from '@selvedge/service-kit/safely'
import type { Revocations } from '../tokens/revocations.ts'
import { createExchangeLease, type ExchangeLease, type ExchangeLeaseParts } from './exchange-lease.ts'
import { type RecordedUse, withoutReported } from './lease-record.ts'
import { createReachability } from './reachability.ts'

/** Who works on a lease, for `getMe`. */
interface ShownLease {
  readonly clientId: string
  readonly signIn: string
  readonly firstAt: string
  readonly lastAt: string
  readonly tokens: number
  readonly leaseExpiresAt: string
}

export interface Leases {
  readonly exchange: ExchangeLease
  /** The same frozen list until something changes. */
  shown(): readonly ShownLease[]
  /** What the identity service does not know yet, as much as one request carries; undefined: nothing. */
  unreported(): readonly LeaseUse[] | undefined
  /** To be called when the identity service has it. */
  reported(uses: readonly LeaseUse[]): Promise<void>
}

export interface LeasesParts extends Omit<ExchangeLeaseParts, 'reachability'> {
  readonly log: Log
  readonly revocations: Pick<Revocations, 'knowledgeOf' | 'fetchNow' | 'onConfirmed'>
  /** Issuers whose lists of revoked tokens are followed. */
  readonly issuers: readonly string[]
  /** Called when the identity service is reachable and does not know yet who worked on a lease. */
  readonly onUnreported: () => void
}

/** Milliseconds by which the stored time of the last confirmed list may be behind: an idle device writes four times a day. */
const confirmationStepMs = 6 * 3_600_000

export function createLeases(parts: LeasesParts): Leases {
  const { record, revocations, clock, log } = parts
  const reachability = createReachability(revocations, clock.monotonic)
  let shown: { readonly of: readonly RecordedUse[]; readonly list: readonly ShownLease[] } | undefined

  /** After a restart without a network, this is how the age of a list is known. Only a confirmed clock counts. */
  async function noteConfirmed(): Promise<void> {
    if (clock.state() !== 'trusted') return
    const now = clock.now()
    const due = parts.issuers.filter((issuer) => isDue(issuer, now))
    if (due.length === 0) return
    const confirmed = Object.fromEntries(due.map((issuer) => [issuer, now]))
    await record.update((value) => ({ ...value, confirmedAt: { ...value.confirmedAt, ...confirmed } }))
  }
  const isDue = (issuer: string, now: number) =>
    Math.abs(now - (record.value.confirmedAt[issuer] ?? 0)) >= confirmationStepMs

  revocations.onConfirmed(() => {
    const noted = noteConfirmed().catch((cause) =>
      log.warn('that the list of revoked tokens is the newest could not be stored', { cause }),
    )
    inBackground('leases.confirmed', noted)
    if (record.value.uses.length > 0) parts.onUnreported()
  })

  return {
    exchange: createExchangeLease({ ...parts, reachability }),
    shown() {
      const { uses } = record.value
      if (shown?.of !== uses) shown = { of: uses, list: Object.freeze(uses.map(showUse)) }
      return shown.list
    },
    unreported() {
      const uses = record.value.uses.slice(0, leaseUseLimits.count).map(({ expires_at: _, ...use }) => use)
      return uses.length === 0 ? undefined : uses
    },
    async reported(uses) {
      await record.update((value) => ({ ...value, uses: withoutReported(value.uses, uses) }))
    },
  }
}

const showUse = (use: RecordedUse): ShownLease => ({
  clientId: use.client_id,
  signIn: use.sid,
  firstAt: isoTime(use.first_at * 1000),
  lastAt: isoTime(use.last_at * 1000),
  tokens: use.count,
  leaseExpiresAt: isoTime(use.expires_at * 1000),
})
