/** The state of a device, and its record after an event. The service decides both. */
import type { Device } from '@selvedge/protocol/console'
import type { News } from './use-news.ts'

/**
 * The state of a device on the map, at the moment for which the list beside it is right.
 *
 * @param onlineUntil Unix second; -1 for a blocked one
 */
export const stateAt = (onlineUntil: number, atMs: number): Device['state'] =>
  onlineUntil < 0 ? 'blocked' : Math.floor(atMs / 1000) <= onlineUntil ? 'online' : 'away'

/** What a person called it, else what it calls itself. */
export const nameOf = ({ label, name }: Pick<Device, 'label' | 'name'>): string => label || name

/** A device with its newest events. A location moves it, and changes no state: all lists show its contact with the service. */
export function withNews(device: Device, { device: news, fixes = [] }: News): Device {
  if (news?.nodeId === device.nodeId) return { ...device, ...news }
  const fix = fixes.find(({ nodeId }) => nodeId === device.nodeId)
  return fix ? { ...device, fix } : device
}
