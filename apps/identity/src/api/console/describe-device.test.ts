import { identityReportSeconds, onlineWindowMs } from '@selvedge/protocol'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import type { Node } from '../../registry/nodes/nodes.ts'
import { createDescribeDevice } from './describe-device.ts'

const clock = createFakeClock()
const nodeSeen = (lastSeenAt: number, blockedAt: number | null = null) =>
  ({
    nodeId: 'n',
    name: 'n',
    version: '',
    enrolledAt: 0,
    lastSeenAt,
    blockedAt,
    services: [],
  }) as unknown as Node

it.each([60, 600, 3600])(
  'with edge ID tokens of %d s, the console shows a device as online exactly for the window of the protocol',
  (lifetime) => {
    const reportSeconds = identityReportSeconds(lifetime)
    const describe = createDescribeDevice(clock, reportSeconds)
    const edge = clock.now() - onlineWindowMs(reportSeconds)
    expect(describe(nodeSeen(edge)).state).toBe('online')
    expect(describe(nodeSeen(edge - 1)).state).toBe('away')
  },
)

it('shows when a device was blocked, and null for one that is not', () => {
  const describe = createDescribeDevice(clock, 600)
  expect(describe(nodeSeen(clock.now(), 0))).toMatchObject({ blockedAt: '1970-01-01T00:00:00.000Z' })
  expect(describe(nodeSeen(0))).toMatchObject({
    ...{ blockedAt: null, lastSeenAt: '1970-01-01T00:00:00.000Z', state: 'away' },
  })
})

it('shows a blocked device as blocked, however recently it was seen', () => {
  const describe = createDescribeDevice(clock, 600)
  expect(describe(nodeSeen(clock.now(), clock.now())).state).toBe('blocked')
})
