import type { Device } from '@selvedge/protocol/console'
import { isoTime } from '@selvedge/service-kit/clock'
import type { Node } from '../../registry/nodes/nodes.ts'
import type { DeviceStates } from './device-states.ts'

/**
 * A device as it states itself, without its location and what people call it.
 *
 * @param at the moment of its state, as `now` of {@link DeviceStates}. Default: now
 */
export type DescribeDevice = (node: Node, at?: number) => Omit<Device, 'fix' | 'label' | 'tags'>

export const createDescribeDevice =
  (states: Pick<DeviceStates, 'now' | 'stateOf'>): DescribeDevice =>
  (node, at = states.now()) => {
    const { nodeId, name, version, enrolledAt, lastSeenAt, blockedAt, services } = node
    return {
      nodeId,
      name,
      version,
      state: states.stateOf(node, at),
      enrolledAt: isoTime(enrolledAt),
      lastSeenAt: isoTime(lastSeenAt),
      blockedAt: blockedAt === null ? null : isoTime(blockedAt),
      services,
    }
  }
