/** Whether a device is shown as online, by the definition of the protocol, and its record after an event. */
import { type Device, identityCheckSeconds, isOnline } from '@selvedge/protocol/console'
import type { News } from './use-news.ts'

/** The service does not send its interval to the page: it is the usual one. */
export const presenceOf = (lastReportMs: number, nowMs: number): 'online' | 'away' =>
  isOnline(lastReportMs, nowMs, identityCheckSeconds) ? 'online' : 'away'

/** What a person called it, else what it calls itself. */
export const nameOf = ({ label, name }: Pick<Device, 'label' | 'name'>): string => label || name

/** A device with its newest events. A fix that arrives late neither makes it online nor moves "last seen" back. */
export function withNews(device: Device, { device: news, fixes = [] }: News, nowMs: number): Device {
  if (news?.nodeId === device.nodeId) return { ...device, ...news }
  const fix = fixes.find(({ nodeId }) => nodeId === device.nodeId)
  if (!fix) return device
  const isNewer = Date.parse(fix.fixedAt) > Date.parse(device.lastSeenAt)
  return {
    ...device,
    fix,
    lastSeenAt: isNewer ? fix.fixedAt : device.lastSeenAt,
    state: device.state === 'away' ? presenceOf(Date.parse(fix.fixedAt), nowMs) : device.state,
  }
}
