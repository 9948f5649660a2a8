/** When a device is online, away or blocked: the one rule of lists, counts, pages, the map, exports and events. */
import { type Device, isOnline, onlineWindowMs } from '@selvedge/protocol/console'
import type { Clock } from '@selvedge/service-kit/clock'
import type { Node } from '../../registry/nodes/nodes.ts'

export interface DeviceStates {
  /** Milliseconds for which a device is online after it was last seen. */
  readonly onlineMs: number
  /** The present moment in Unix milliseconds, a whole second: the map has whole seconds, and shows the same state as the list. */
  now(): number
  /** Devices that were seen then or later are online. @param at a moment of `now` */
  onlineSince(at: number): number
  /** @param at a moment of `now` */
  stateOf(node: Pick<Node, 'lastSeenAt' | 'blockedAt'>, at: number): Device['state']
  /** @returns the last Unix second in which a device is online unless it is seen again; -1 for a blocked one */
  onlineUntil(node: { readonly lastSeenAt: number; readonly isBlocked: boolean }): number
}

/** @param reportSeconds interval in which a healthy node contacts this service */
export function createDeviceStates(clock: Pick<Clock, 'now'>, reportSeconds: number): DeviceStates {
  const onlineMs = onlineWindowMs(reportSeconds)
  return {
    onlineMs,
    now: () => Math.floor(clock.now() / 1000) * 1000,
    onlineSince: (at) => at - onlineMs,
    stateOf({ lastSeenAt, blockedAt }, at) {
      if (blockedAt !== null) return 'blocked'
      return isOnline(lastSeenAt, at, reportSeconds) ? 'online' : 'away'
    },
    onlineUntil: ({ lastSeenAt, isBlocked }) => (isBlocked ? -1 : Math.floor((lastSeenAt + onlineMs) / 1000)),
  }
}
