import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createServiceReports, reportAfterMs } from './service-reports.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A device with one service, that states it in each of its reports. */
function open() {
  const device = { state: 'paused', isScarce: false, sent: [] as string[], failure: undefined as unknown }
  const reports = createServiceReports({
    stated: () => [{ id: 's', name: 's', image: 'i', state: device.state }],
    isScarce: () => device.isScarce,
    now: () => Date.now(),
  })
  reports.stated()
  const changed = () =>
    reports.changed(async () => {
      device.sent.push(reports.stated()[0]!.state)
      if (device.failure) throw device.failure
    })
  const become = (state: string) => {
    device.state = state
    changed()
  }
  return { device, reports, changed, become, passed: (ms: number) => vi.advanceTimersByTimeAsync(ms) }
}

it('a service that starts by itself is reported once, soon', async () => {
  const { device, become, changed, passed } = open()
  become('starting')
  await passed(reportAfterMs - 1)
  become('running')
  expect(device.sent).toEqual([])
  await passed(1)
  expect(device.sent).toEqual(['running'])
  changed()
  await passed(10 * reportAfterMs)
  expect(device.sent).toEqual(['running'])
})

it('what another statement has reported meanwhile is not reported again', async () => {
  const { device, become, reports, passed } = open()
  become('running')
  expect(reports.stated()).toMatchObject([{ state: 'running' }])
  await passed(reportAfterMs)
  expect(device.sent).toEqual([])
})

it('one that starts and pauses all the time is reported ten times, then once in two minutes, with its last state', async () => {
  const { device, become, passed } = open()
  for (let time = 0; time < 10; time++) {
    become(time % 2 === 0 ? 'running' : 'paused')
    await passed(reportAfterMs)
  }
  expect(device.sent).toHaveLength(10)
  become('starting')
  await passed(reportAfterMs)
  become('running')
  await passed(90_000)
  expect(device.sent).toHaveLength(10)
  await passed(30_000)
  expect(device.sent.slice(10)).toEqual(['running'])
})

it('on a link that costs by its bytes, the next statement has the state', async () => {
  const { device, become, passed } = open()
  device.isScarce = true
  become('running')
  await passed(10 * reportAfterMs)
  expect(device.sent).toEqual([])
})

it('a service that does not answer is no failure of the device', async () => {
  const { device, become, passed } = open()
  device.failure = new Error('away')
  become('running')
  await passed(reportAfterMs)
  become('paused')
  await passed(reportAfterMs)
  expect(device.sent).toEqual(['running', 'paused'])
})

it('nothing is reported after the end', async () => {
  const { device, become, reports, passed } = open()
  become('running')
  reports.close()
  await passed(10 * reportAfterMs)
  expect(device.sent).toEqual([])
})
