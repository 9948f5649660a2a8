/** Who can see the location of this node, and whether a track is stored. Stored here first, then sent to the discovery service. */
import { type Audience, longestTrack, type Precision, RpcError, type Sharing } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import type { StateStore } from '../../device/state.ts'

type Status = { status: 'ok' | 'queued' }

export interface LocationSharing {
  set(audience: Audience, precision: Precision): Promise<Sharing & Status>
  /** @param until a time in ISO 8601, or "" @throws RpcError `invalid_params` */
  setTrack(until: string): Promise<{ until: string | null } & Status>
  get(): Sharing & { trackUntil: string | null }
}

/** @param restate sends it to the discovery service; returns whether the service has accepted it */
export function createLocationSharing(
  state: StateStore,
  clock: Clock,
  restate: () => Promise<boolean>,
): LocationSharing {
  const tell = async (): Promise<Status> => ({ status: (await restate()) ? 'ok' : 'queued' })
  return {
    async set(audience, precision) {
      await state.update((value) => ({ ...value, sharing: { ...value.sharing, [audience]: precision } }))
      return { ...state.value.sharing, ...(await tell()) }
    },
    async setTrack(until) {
      const trackUntil = until === '' ? 0 : Date.parse(until)
      const now = clock.now()
      if (until !== '' && (trackUntil <= now || trackUntil > now + longestTrack)) {
        throw new RpcError(
          'invalid_params',
          `setLocationTrack: parameter "until" is ${until}; expected a time after ${isoTime(now)} and at most ${longestTrack / 86_400_000} days ahead`,
        )
      }
      await state.update((value) => ({ ...value, trackUntil }))
      return { until: trackUntil === 0 ? null : isoTime(trackUntil), ...(await tell()) }
    },
    get() {
      const { sharing, trackUntil } = state.value
      return { ...sharing, trackUntil: trackUntil > clock.now() ? isoTime(trackUntil) : null }
    },
  }
}
