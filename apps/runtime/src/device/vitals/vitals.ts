/** What the device states about itself for its owner, signed with each request for an edge ID token. */

import { type DeviceVitals, maxVitalsCharacters } from '@selvedge/protocol/tokens'
import type { Clock } from '@selvedge/service-kit/clock'
import { inBackground, reportFailure, safely } from '@selvedge/service-kit/safely'
import type { Notices } from '../node/notices.ts'
import type { EngineSummary, Presence } from '../presence.ts'
import type { DeviceClock } from '../time/device-clock.ts'
import { fitVitals, plain } from './fit.ts'
import { systemVitals } from './system.ts'

export interface Vitals {
  /**
   * The vitals as they are now. Never rejects.
   *
   * @param roomBytes for them as JSON
   * @returns null if the device is not to state any; undefined if they cannot be read, or do not fit
   */
  state(roomBytes: number): Promise<DeviceVitals | null | undefined>
  /** @param status of the list of revoked tokens; before this, its age is not known */
  followRevocations(status: () => { readonly checkedAt: string | null }): void
  close(): void
}

export interface VitalsParts {
  /** The state folder of the runtime. */
  readonly folder: string
  readonly isEnabled: boolean
  readonly clock: Pick<DeviceClock, 'now' | 'state'>
  readonly notices: Pick<Notices, 'list'>
  readonly presence: Pick<Presence, 'addresses' | 'unsteady' | 'engines'>
}

/** Milliseconds after a statement until the engines are looked at, for the next one: a start has more urgent work. */
const lookAfterMs = 10_000

export function createVitals({ folder, isEnabled, clock, notices, presence }: VitalsParts): Vitals {
  let revocations: (() => { readonly checkedAt: string | null }) | undefined
  let engines: DeviceVitals['engines']
  let looking: NodeJS.Timeout | undefined

  const look = safely('vitals.engines', () => {
    looking = undefined
    const found = presence.engines().then((all) => {
      engines = all.map(statedEngine)
    })
    inBackground('vitals.engines', found)
  })

  async function state(roomBytes: number): Promise<DeviceVitals | undefined> {
    const system = await systemVitals(folder)
    const vitals = {
      ...system,
      addresses: presence.addresses().slice(0, 8),
      clock: clock.state(),
      revocationsAgeSeconds: ageSeconds(clock, revocations?.().checkedAt),
      ...(engines && { engines }),
      notices: notices
        .list()
        .slice(-8)
        .map(({ reason, errorId, time }) => ({ reason, errorId, time })),
      services: presence.unsteady().slice(0, 20),
    }
    return fitVitals(vitals, Math.min(roomBytes, maxVitalsCharacters))
  }

  return {
    async state(roomBytes) {
      if (!isEnabled) return null
      looking ??= setTimeout(look, lookAfterMs).unref()
      return state(roomBytes).catch((cause: unknown) => {
        reportFailure('vitals.state', cause)
        return undefined
      })
    },
    followRevocations(status) {
      revocations = status
    },
    close: () => clearTimeout(looking),
  }
}

const ageSeconds = (clock: Clock, checkedAt: string | null | undefined): number | null =>
  checkedAt ? Math.max(0, Math.round((clock.now() - Date.parse(checkedAt)) / 1000)) : null

const statedEngine = ({ kind, version, isolation }: EngineSummary) => ({
  kind,
  ...(version !== undefined && { version: plain(version, 32) }),
  isolation: isolation.slice(0, 8).map((layer) => plain(layer, 32)),
})
