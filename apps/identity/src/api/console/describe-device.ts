import { type Device, isOnline } from '@selvedge/protocol/console'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import type { Node } from '../../registry/nodes/nodes.ts'

/** A device as it states itself, without its location and what people call it. */
export type DescribeDevice = (node: Node) => Omit<Device, 'fix' | 'label' | 'tags'>

/** @param reportSeconds interval in which a healthy node contacts this service */
export const createDescribeDevice =
  (clock: Clock, reportSeconds: number): DescribeDevice =>
  ({ nodeId, name, version, enrolledAt, lastSeenAt, blockedAt, services }) => {
    const presence = isOnline(lastSeenAt, clock.now(), reportSeconds) ? 'online' : 'away'
    return {
      nodeId,
      name,
      version,
      state: blockedAt === null ? presence : 'blocked',
      enrolledAt: isoTime(enrolledAt),
      lastSeenAt: isoTime(lastSeenAt),
      blockedAt: blockedAt === null ? null : isoTime(blockedAt),
      services,
    }
  }
