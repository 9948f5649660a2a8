import type { DeviceVitals } from '@selvedge/protocol/tokens'
import { describe, expect, it } from 'vitest'
import { eventsBetween, type Stated } from './device-history.ts'
import { needsOfVitals } from './device-needs.ts'

const minute = 60_000
const awayMs = 25 * minute
const vitals: DeviceVitals = {
  ...{ arch: 'arm64', addresses: [], uptimeSeconds: 1000, cores: 1, load: 0 },
  ...{ memory: { usedBytes: 1, totalBytes: 2 }, disk: null, clock: 'trusted', revocationsAgeSeconds: null },
  ...{ notices: [], services: [] },
}
const serviceIn = (state: string, name = 'camera') => ({ id: `p-${name}`, name, image: 'x', state })
const stated = (
  at: number,
  services: ReturnType<typeof serviceIn>[] = [],
  more: Partial<DeviceVitals> = {},
): Stated => ({
  node: { services, version: '1.0.0', lastSeenAt: at * minute },
  vitals: { ...vitals, uptimeSeconds: 1000 + at * 60, ...more },
})
const eventsOf = (before: Stated, after: Stated) =>
  eventsBetween(before, after, awayMs).map(({ kind, subject, before, after, reason }) =>
    [kind, subject, before, after, reason].filter(Boolean).join(' '),
  )

describe('the history of a device', () => {
  it('is empty for a device that continues as before', () => {
    expect(eventsOf(stated(0, [serviceIn('running')]), stated(25, [serviceIn('running')]))).toEqual([])
  })

  it('states since when a device was away, once it is back', () => {
    expect(eventsOf(stated(0), stated(26))).toEqual(['returned 1970-01-01T00:00:00.000Z'])
  })

  it('detects a restart of the device by its uptime; a report that is only late is not one', () => {
    expect(eventsOf(stated(0), stated(10, [], { uptimeSeconds: 30 }))).toEqual(['started'])
    expect(eventsOf(stated(0), stated(10, [], { uptimeSeconds: 1541 }))).toEqual([])
    expect(eventsOf({ ...stated(0), vitals: undefined }, stated(10, [], { uptimeSeconds: 30 }))).toEqual([])
  })

  it('has each change of a service, with the reason of a failure', () => {
    const services = [{ id: 'p-camera', restarts: 6, lastEnd: 'out_of_memory' }]
    expect(eventsOf(stated(0), stated(1, [serviceIn('running')]))).toEqual(['service camera running'])
    expect(eventsOf(stated(0, [serviceIn('paused')]), stated(1))).toEqual(['service camera paused'])
    expect(
      eventsOf(stated(0, [serviceIn('running')]), stated(1, [serviceIn('failed')], { services })),
    ).toEqual(['restart camera 0 6 out_of_memory', 'service camera running failed out_of_memory'])
    expect(
      eventsOf(
        stated(0, [serviceIn('running')], { services }),
        stated(1, [serviceIn('running')], { services }),
      ),
    ).toEqual([])
  })

  it('has no service that pauses, or starts with a request', () => {
    const between = (before: string, after: string) =>
      eventsOf(stated(0, [serviceIn(before)]), stated(1, [serviceIn(after)]))
    expect([between('running', 'paused'), between('paused', 'running')]).toEqual([[], []])
    expect([between('starting', 'running'), between('paused', 'stopped')]).toEqual([
      ['service camera starting running'],
      ['service camera paused stopped'],
    ])
  })

  it('has the reason of no end that is past', () => {
    const services = [{ id: 'p-camera', restarts: 1, lastEnd: 'exited' }]
    const before = stated(0, [serviceIn('running')], { services })
    expect(eventsOf(before, stated(1, [serviceIn('stopped')], { services }))).toEqual([
      'service camera running stopped',
    ])
  })

  it('has a notice once, and a version', () => {
    const notices = [{ reason: 'certificate_expires', errorId: 'E1', time: '2026-01-01T00:00:00Z' }]
    expect(eventsOf(stated(0), stated(1, [], { notices }))).toEqual(['notice certificate_expires E1'])
    expect(eventsOf(stated(0, [], { notices }), stated(1, [], { notices }))).toEqual([])
    const newer = { ...stated(1), node: { ...stated(1).node, version: '1.1.0' } }
    expect(eventsOf(stated(0), newer)).toEqual(['version 1.0.0 1.1.0'])
  })
})

describe('what a device needs a person for', () => {
  const notice = (reason: string) => ({ notices: [{ reason, errorId: 'E', time: '2026-01-01T00:00:00Z' }] })
  it.each<[string, Partial<DeviceVitals>, string[]]>([
    ['nothing', {}, []],
    ['nine tenths of a disk', { disk: { usedBytes: 90, totalBytes: 100 } }, ['disk']],
    ['less', { disk: { usedBytes: 89, totalBytes: 100 } }, []],
    ['a disk without a size', { disk: { usedBytes: 0, totalBytes: 0 } }, []],
    ['keys that are not stored', notice('keys_not_stored'), ['disk']],
    ['an unknown clock', { clock: 'unknown' }, ['clock']],
    ['a clock that is held', { clock: 'held' }, []],
    ['another time than the service', notice('revocations_wrong_time'), ['clock']],
    ['a certificate', notice('certificate_expires'), ['certificate']],
    ['one that cannot be used', notice('certificate_unusable'), ['certificate']],
    ['something else', notice('crashed'), []],
  ])('%s', (_, more, needs) => {
    expect(needsOfVitals({ ...vitals, ...more })).toEqual(needs)
  })
})
