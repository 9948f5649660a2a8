/** Leases: work at this device while it cannot reach the identity service, who did it, and the report of that when it can again. */
import { type LeaseUse, leaseUseLimits } from '@selvedge/protocol/tokens'
import { isoTime } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import type { Revocations } from '../tokens/revocations.ts'
import { createConfirmations } from './confirmations.ts'
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
  /** To be called before the record closes. */
  stop(): Promise<void>
}

export interface LeasesParts extends Omit<ExchangeLeaseParts, 'reachability' | 'confirmations'> {
  readonly log: Log
  readonly revocations: Pick<Revocations, 'knowledgeOf' | 'fetchNow' | 'onConfirmed'>
  /** Called when the identity service is reachable and does not know yet who worked on a lease. */
  readonly onUnreported: () => void
}

export function createLeases(parts: LeasesParts): Leases {
  const { record, revocations, clock } = parts
  const confirmations = createConfirmations(parts)
  const reachability = createReachability(revocations, clock.monotonic)
  let shown: { readonly of: readonly RecordedUse[]; readonly list: readonly ShownLease[] } | undefined

  revocations.onConfirmed((issuer) => {
    confirmations.noteConfirmed(issuer)
    if (record.value.uses.length > 0) parts.onUnreported()
  })

  return {
    exchange: createExchangeLease({ ...parts, reachability, confirmations }),
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
    stop: confirmations.stop,
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
