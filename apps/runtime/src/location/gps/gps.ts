import { isWorthSending, type Motion, type SendingLimits } from '@selvedge/geo'
import type { Reading } from '@selvedge/geo/receivers'
import { type FixSource, type GpsSignal, RpcError, readGpsSignal } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import type { StateStore, StoredFix } from '../../device/state.ts'
import type { Publisher } from './publisher.ts'

export interface Gps {
  /** @throws RpcError `invalid_params` */
  update(signal: GpsSignal): Promise<{ status: 'ok' | 'queued' }>
  /** Accepts a fix of a receiver. It is stored and sent if dead reckoning from the last one is off by too much. */
  observe(reading: Reading, source: FixSource): Promise<void>
  /** @throws RpcError `not_found` */
  last(): object
}

export interface GpsParts {
  readonly state: StateStore
  readonly clock: Clock
  readonly publisher: Publisher
  /** Positional order of updateGps, for its refusals. */
  readonly order: readonly string[]
  /** How wrong others may be about a device that is followed. */
  readonly limits: () => SendingLimits
  /** Called with each fix of a receiver; those that are stored change the state. */
  readonly onFix: () => void
}

export function createGps({ state, clock, publisher, order, limits, onFix }: GpsParts): Gps {
  /** The newest word of a receiver, and whose the device was then; an idle disk matters more than the last second of it. */
  let observed: { readonly fix: StoredFix; readonly accountId: string } | undefined
  /** The start of dead reckoning: the last fix that was stored, or is being stored. */
  let sent: Motion | undefined
  /** Time of the last fix, stored or not. */
  let givenUpTo = 0

  /** @throws RpcError when the account changed meanwhile: the location is nothing for another one */
  async function store(fix: StoredFix, accountId: string): Promise<void> {
    await state.update((value) => {
      if (value.accountId !== accountId)
        throw new RpcError('wrong_account', 'the account of this runtime changed meanwhile')
      return { ...value, fix, timeFloor: Math.max(value.timeFloor, fix.receivedAt) }
    })
  }

  const fixOf = (signal: GpsSignal, source: FixSource, accuracy: number | null): StoredFix => {
    const receivedAt = clock.now()
    const before = Math.max(state.value.fix?.fixedAt ?? 0, givenUpTo)
    const fixedAt = nextFixTime(receivedAt, before === 0 ? undefined : before)
    givenUpTo = fixedAt
    return { signal, fixedAt, receivedAt, source, accuracy, published: false }
  }

  return {
    async update({ longitude, latitude, speed, bearing }) {
      const signal = { longitude, latitude, speed, bearing }
      const values = readGpsSignal(signal, order)
      const fix = fixOf(signal, 'api', null)
      await store(fix, state.value.accountId)
      observed = undefined
      sent = { ...values, fixedAt: fix.fixedAt }
      return { status: (await publisher.publish(fix.fixedAt)) ? 'ok' : 'queued' }
    },
    async observe({ longitude, latitude, speed, bearing, accuracy }, source) {
      const fix = fixOf({ longitude, latitude, speed, bearing }, source, accuracy ?? null)
      const { accountId, fix: kept } = state.value
      observed = { fix, accountId }
      onFix()
      const now = { longitude, latitude, speed, bearing, fixedAt: fix.fixedAt }
      // If nothing is stored, nothing was sent for this account, and what a former account sent does not count.
      if (accountId === '' || !isWorthSending(kept ? sent : undefined, now, limits())) return
      const before = sent
      sent = now
      await store(fix, accountId).catch((cause) => {
        // It was not sent, so the next one has to be.
        if (sent === now) sent = before
        throw cause
      })
      await publisher.publish(fix.fixedAt)
    },
    last() {
      const { fix: kept, accountId } = state.value
      const own = observed?.accountId === accountId ? observed.fix : undefined
      const fix = own && own.fixedAt > (kept?.fixedAt ?? 0) ? own : kept
      if (!fix || accountId === '') {
        throw new RpcError('not_found', 'no location was recorded yet', { hint: 'Call updateGps first.' })
      }
      const { signal, fixedAt, receivedAt, source, accuracy, published } = fix
      return {
        ...signal,
        fixedAt: isoTime(fixedAt),
        receivedAt: isoTime(receivedAt),
        accuracy,
        source,
        published,
      }
    },
  }
}

/** Milliseconds by which a fix may be ahead before its clock counts as wrong. */
const toleranceMs = 60_000

/** Every fix is later than the one before it, even within a millisecond, so that "newest" is never a tie. */
function nextFixTime(now: number, before: number | undefined): number {
  return before === undefined || before > now + toleranceMs ? now : Math.max(now, before + 1)
}
