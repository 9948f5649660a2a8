import { expect, it } from 'vitest'
import { deviceHistory } from './device-history.ts'
import type { AuditRecord, DeviceEvent } from './records.ts'

const event = (more: Partial<DeviceEvent>): DeviceEvent => ({
  ...{
    id: '1',
    at: '2026-05-01T12:00:00.000Z',
    kind: 'service',
    subject: '',
    before: '',
    after: '',
    reason: '',
  },
  ...more,
})
const wordsOf = (more: Partial<DeviceEvent>) => {
  const [entry] = deviceHistory([event(more)], [])
  return [entry!.tone, entry!.text, entry!.about].filter(Boolean).join(' | ')
}

it.each<[Partial<DeviceEvent>, string]>([
  [{ kind: 'started' }, 'warn | The device restarted'],
  [{ kind: 'returned', before: '2026-05-01T09:30:00.000Z' }, 'good | Online again after 2 hours'],
  [{ kind: 'returned', before: '2026-05-01T13:00:00.000Z' }, 'good | Online again after 0 seconds'],
  [{ kind: 'version', before: '1.0.0', after: '1.1.0' }, 'Runtime 1.1.0 | It was 1.0.0.'],
  [{ subject: 'camera', after: 'running' }, 'camera was deployed: running'],
  [{ subject: 'camera', before: 'paused' }, 'camera was removed'],
  [{ subject: 'camera', before: 'paused', after: 'running' }, 'good | camera is running | It was paused.'],
  [{ subject: 'camera', before: 'running', after: 'stopped' }, 'camera is stopped | It was running.'],
  [
    { subject: 'camera', before: 'running', after: 'failed', reason: 'out_of_memory' },
    'bad | camera failed, and is not started again | It used more memory than its limit (MCM.MEMORY_MB). On the device: selvedge why camera',
  ],
  [
    { kind: 'restart', subject: 'camera', before: '2', after: '3', reason: 'unheard_of' },
    'warn | camera restarted once | On the device: selvedge why camera',
  ],
  [
    { kind: 'restart', subject: 'camera', before: '2', after: '5', reason: 'exited' },
    'warn | camera restarted 3 times | Its program exited. On the device: selvedge why camera',
  ],
  [
    { kind: 'notice', subject: 'unheard_of', after: 'E1' },
    'warn | The device reported: unheard of | This version does not know the reason.',
  ],
])('%j reads as a sentence', (more, words) => {
  expect(wordsOf(more)).toBe(words)
})

it('has what people did beside what happened, newest first', () => {
  const change: AuditRecord = {
    ...{ id: 'a', at: '2026-05-01T13:00:00.000Z', actor: 'ada@example.com', action: 'device.block' },
    ...{ subject: 'n', address: '', outcome: 'ok', detail: '' },
  }
  const label = {
    ...change,
    id: 'b',
    at: '2026-05-01T11:00:00.000Z',
    action: 'device.label',
    detail: 'van → bus',
  }
  const all = deviceHistory(
    [event({ kind: 'started' })],
    [change, label, { ...label, id: 'c', outcome: 'refused' }],
  )
  expect(all.map(({ id, kind, tone, text, about }) => [id, kind, tone, text, about])).toEqual([
    ['a', 'change', '', 'ada@example.com blocked the device', ''],
    ['1', 'started', 'warn', 'The device restarted', ''],
    ['b', 'change', '', 'ada@example.com changed the name or tags of a device', 'van → bus'],
    ['c', 'change', 'bad', 'ada@example.com changed the name or tags of a device', 'van → bus'],
  ])
})
