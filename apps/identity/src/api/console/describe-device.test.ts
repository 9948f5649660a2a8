import { expect, it } from 'vitest'
import type { Node } from '../../registry/nodes/nodes.ts'
import { createDescribeDevice } from './describe-device.ts'

const describeDevice = createDescribeDevice({
  now: () => 5,
  stateOf: ({ blockedAt }, at) => (blockedAt === null ? (at === 5 ? 'online' : 'away') : 'blocked'),
})
const node = (blockedAt: number | null = null) =>
  ({
    nodeId: 'n',
    name: 'n',
    version: '',
    enrolledAt: 0,
    lastSeenAt: 0,
    blockedAt,
    services: [],
  }) as never as Node

it('shows when a device was blocked, and null for one that is not', () => {
  expect(describeDevice(node(0))).toMatchObject({ blockedAt: '1970-01-01T00:00:00.000Z', state: 'blocked' })
  expect(describeDevice(node())).toMatchObject({ blockedAt: null, lastSeenAt: '1970-01-01T00:00:00.000Z' })
})

it('shows its state at the moment of the list, and without one as it is now', () => {
  expect(describeDevice(node()).state).toBe('online')
  expect(describeDevice(node(), 6).state).toBe('away')
})
