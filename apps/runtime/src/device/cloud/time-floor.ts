/** Stores the time that the identity service confirmed: the device starts with it next, also offline and without a battery for its clock. */
import type { Learned } from '@selvedge/service-kit/store'
import type { RuntimeState, StateStore } from '../state.ts'
import type { DeviceClock } from '../time/device-clock.ts'

/** Milliseconds by which the stored time may be behind: an idle device writes it four times a day. */
const stepMs = 6 * 3_600_000

/**
 * @returns to be called when the clock has learned the time: writes it at once if the time on the disk differs by more than a quarter of a
 * day, and then until the disk accepts it; otherwise with the next change
 */
export function createTimeFloor(
  state: Pick<StateStore, 'value' | 'updateLazily'>,
  learned: Learned<RuntimeState>,
  clock: Pick<DeviceClock, 'now'>,
): () => void {
  let writtenAt: number | undefined
  return () => {
    const now = clock.now()
    writtenAt ??= state.value.timeFloor
    const change = (value: RuntimeState): RuntimeState => ({ ...value, timeFloor: now })
    if (Math.abs(now - writtenAt) < stepMs) return state.updateLazily(change)
    writtenAt = now
    learned.learn('time', change)
  }
}
