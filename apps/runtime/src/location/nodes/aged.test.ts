import { discoveryReportSeconds, type NodeRecord, onlineWindowMs } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { aged } from './nodes.ts'

const answeredAt = 1e12
const windowMs = onlineWindowMs(discoveryReportSeconds)
const node = (state: NodeRecord['state'], heardAt: number | null) =>
  ({
    nodeId: 'n',
    state,
    heardAt: heardAt === null ? null : new Date(heardAt).toISOString(),
    fix: null,
  }) as NodeRecord
const stateAt = (record: NodeRecord, nowMs: number) =>
  aged(
    { list: { type: 'account', data: [record], next: null }, at: answeredAt },
    nowMs,
    discoveryReportSeconds,
  ).data[0]?.state

it('a node of a stored list is online until the end of the window after its last report', () => {
  const heardAt = answeredAt - 1000
  expect(stateAt(node('online', heardAt), heardAt + windowMs)).toBe('online')
  expect(stateAt(node('online', heardAt), heardAt + windowMs + 1)).toBe('offline')
})

it('a node of another account, whose last report is not shown, is online until the end of the window after the answer', () => {
  expect(stateAt(node('online', null), answeredAt + windowMs)).toBe('online')
  expect(stateAt(node('online', null), answeredAt + windowMs + 1)).toBe('offline')
})

it('a node that was offline stays offline', () => {
  expect(stateAt(node('offline', answeredAt), answeredAt)).toBe('offline')
})
