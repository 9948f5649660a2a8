import { type GpsSignal, RpcError, readGpsSignal } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import type { StateStore, StoredFix } from '../state.ts'
import type { Publisher } from './publisher.ts'

export interface Gps {
  /** @throws RpcError `invalid_params` */
  update(signal: GpsSignal): Promise<{ status: 'ok' | 'queued' }>
  /** @throws RpcError `not_found` */
  last(): object
}

/** @param order positional order of updateGps, for its refusals */
export function createGps(
  state: StateStore,
  clock: Clock,
  publisher: Publisher,
  order: readonly string[],
): Gps {
  return {
    async update({ longitude, latitude, speed, bearing }) {
      const signal = { longitude, latitude, speed, bearing }
      readGpsSignal(signal, order)
      const receivedAt = clock.now()
      const timeFloor = Math.max(state.value.timeFloor, receivedAt)
      const fixedAt = nextFixTime(receivedAt, state.value.fix?.fixedAt)
      const fix: StoredFix = { signal, fixedAt, receivedAt, source: 'api', published: false }
      await state.update((value) => ({ ...value, fix, timeFloor }))
      return { status: (await publisher.publish(fixedAt)) ? 'ok' : 'queued' }
    },
    last() {
      const { fix } = state.value
      if (!fix)
        throw new RpcError('not_found', 'no location was recorded yet', { hint: 'Call updateGps first.' })
      const { signal, fixedAt, receivedAt, source, published } = fix
      return { ...signal, fixedAt: isoTime(fixedAt), receivedAt: isoTime(receivedAt), source, published }
    },
  }
}

/** Milliseconds by which a fix may be ahead before it is taken to be of a clock that was wrong. */
const tolerance = 60_000

/** Every fix is later than the one before it, even within a millisecond, so that "newest" is never a tie. */
function nextFixTime(now: number, before: number | undefined): number {
  return before === undefined || before > now + tolerance ? now : Math.max(now, before + 1)
}
