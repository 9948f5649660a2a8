import { describe, expect, it } from 'vitest'
import { isScarce, readWindow, refusalOf } from './allowance.ts'

const noLimits = { dayBytes: 0, monthBytes: 0, windows: [] as string[] }
const free = { isMetered: false, reason: 'eth0 is no modem' }
const metered = { isMetered: true, reason: 'wwan0 is a modem or a phone' }
/** In the time zone of the machine. */
const at = (hour: number, minute = 0, day = 28, month = 10) =>
  new Date(2026, month, day, hour, minute).getTime()
const state = (more: object = {}) => ({ link: free, today: 0, thisMonth: 0, now: at(12), ...more })

describe('downloads', () => {
  it('may run on a link that is not metered, whatever was used without a limit', () => {
    expect(refusalOf(noLimits, state({ today: 1e15, thisMonth: 1e15 }))).toBeUndefined()
  })

  it('wait while the link is metered, with no end by the clock', () => {
    expect(refusalOf(noLimits, state({ link: metered }))).toEqual({
      kind: 'metered',
      reason:
        'the link is metered (wwan0 is a modem or a phone). Deploy with "now" (selvedge image deploy --now) to download at once.',
      until: undefined,
    })
  })

  it.each([
    ['01:00-05:00', 0, 59, false],
    ['01:00-05:00', 1, 0, true],
    ['01:00-05:00', 4, 59, true],
    ['01:00-05:00', 5, 0, false],
    ['23:00-05:00', 22, 59, false],
    ['23:00-05:00', 23, 0, true],
    ['23:00-05:00', 0, 0, true],
    ['23:00-05:00', 5, 0, false],
  ])('run on a metered link in the times %s: at %i:%i %s', (window, hour, minute, may) => {
    const settings = { ...noLimits, windows: ['12:00-12:01', window] }
    expect(refusalOf(settings, state({ link: metered, now: at(hour, minute) })) === undefined).toBe(may)
  })

  it('wait for the next of the times', () => {
    const settings = { ...noLimits, windows: ['03:30-04:00', '13:05-14:00', '22:00-23:00'] }
    const refusal = (now: number) => refusalOf(settings, state({ link: metered, now }))
    expect(refusal(at(12))?.until).toBe(at(13, 5))
    expect(refusal(at(12))?.reason).toContain(
      'network.downloadTimes has 03:30-04:00, 13:05-14:00, 22:00-23:00',
    )
    expect(refusal(at(14))?.until).toBe(at(22))
    expect(refusal(at(23))?.until).toBe(at(3, 30, 29))
    expect(refusal(at(23, 0, 30))?.until).toBe(at(3, 30, 1, 11))
  })

  it('wait for the next day when the bytes of this one are used, also in the times and on a free link', () => {
    const settings = { ...noLimits, dayBytes: 100, windows: ['00:00-23:59'] }
    expect(refusalOf(settings, state({ today: 99 }))).toBeUndefined()
    for (const link of [free, metered])
      expect(refusalOf(settings, state({ today: 100, link }))).toMatchObject({
        kind: 'day',
        reason: expect.stringContaining('100 bytes were used today; the limit is 100 (network.dayBudget)'),
        until: at(0, 0, 29),
      })
  })

  it('wait for the next month when the bytes of this one are used', () => {
    const settings = { ...noLimits, dayBytes: 1, monthBytes: 100 }
    expect(refusalOf(settings, state({ thisMonth: 99 }))).toBeUndefined()
    expect(refusalOf(settings, state({ today: 5, thisMonth: 100 }))).toMatchObject({
      kind: 'month',
      reason: expect.stringContaining(
        '100 bytes were used this month; the limit is 100 (network.monthBudget)',
      ),
      until: at(0, 0, 1, 11),
    })
  })
})

it.each([
  [{}, noLimits, false],
  [{ link: metered }, noLimits, true],
  [{ today: 79 }, { ...noLimits, dayBytes: 100 }, false],
  [{ today: 80 }, { ...noLimits, dayBytes: 100 }, true],
  [{ thisMonth: 79 }, { ...noLimits, monthBytes: 100 }, false],
  [{ thisMonth: 80 }, { ...noLimits, monthBytes: 100 }, true],
])('the link is scarce with %j and %j: %s', (more, settings, expected) => {
  expect(isScarce(settings, state(more))).toBe(expected)
})

it.each([
  ['01:00-05:30', { start: 60, end: 330 }],
  ['23:59-00:00', { start: 1439, end: 0 }],
  ['00:00-24:00', undefined],
  ['1:00-05:00', undefined],
  ['01:60-05:00', undefined],
  ['01:00-01:00', undefined],
  ['01:00-05:00 ', undefined],
  ['01:00', undefined],
  ['', undefined],
])('%j are times of the day: %j', (text, expected) => {
  expect(readWindow(text)).toEqual(expected)
})
