import { readCron } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { fc } from '../../../../../tests/harness/properties.ts'
import { Cron } from './croner.lazy.ts'
import { createTimetable } from './timetable.ts'

const minute = 60_000
const time = (text: string) => Date.parse(text)
const table = (cron: string | readonly string[], zone = 'UTC') => createTimetable(Cron, [cron].flat(), zone)

/** The next times after one, as texts. */
function times(cron: string, zone: string, from: string, count: number): string[] {
  const { next } = table(cron, zone)
  const all: string[] = []
  for (let at = time(from); all.length < count; ) {
    at = next(at)
    all.push(new Date(at).toISOString().slice(0, 16))
  }
  return all
}

describe('the next times', () => {
  it('are later than the moment that is given', () => {
    const noon = time('2026-01-01T12:00:00Z')
    const { next } = table('0 12 * * *')
    expect(next(noon - 1)).toBe(noon)
    expect(next(noon)).toBe(noon + 24 * 60 * minute)
  })

  it('are those of the time zone', () =>
    expect(times('0 3 * * *', 'Asia/Kathmandu', '2026-01-01T00:00Z', 1)).toEqual(['2026-01-01T21:15']))

  it('come if either the day of the month or the day of the week fits', () =>
    expect(times('0 0 13 * fri', 'UTC', '2026-01-01T00:00Z', 3)).toEqual([
      '2026-01-02T00:00',
      '2026-01-09T00:00',
      '2026-01-13T00:00',
    ]))

  it.each([
    [
      'of 29 February, in leap years',
      '0 0 29 2 *',
      '2097-01-01T00:00Z',
      ['2104-02-29T00:00', '2108-02-29T00:00'],
    ],
    [
      'of day 31, in months that have one',
      '0 0 31 * *',
      '2026-02-01T00:00Z',
      ['2026-03-31T00:00', '2026-05-31T00:00'],
    ],
  ])('%s', (_, cron, from, all) => expect(times(cron, 'UTC', from, all.length)).toEqual(all))

  it('are found again after the clock was set back', () => {
    const { next } = table('0 0 * * *')
    expect(next(time('2030-06-01T10:00Z'))).toBe(time('2030-06-02T00:00Z'))
    expect(next(time('2026-06-01T10:00Z'))).toBe(time('2026-06-02T00:00Z'))
  })
})

// In Berlin, 2 to 3 o'clock does not exist on 29 March 2026, and exists twice on 25 October.
describe('where the clock is set ahead', () => {
  it('a time in the gap is due at its end, once', () =>
    expect(times('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', 2)).toEqual([
      '2026-03-29T01:00',
      '2026-03-30T00:30',
    ]))

  it('times of a step in the gap are left out', () =>
    expect(times('*/30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', 2)).toEqual([
      '2026-03-30T00:00',
      '2026-03-30T00:30',
    ]))

  it('times of each hour are an hour apart', () =>
    expect(times('30 * * * *', 'Europe/Berlin', '2026-03-28T23:40Z', 3)).toEqual([
      '2026-03-29T00:30',
      '2026-03-29T01:30',
      '2026-03-29T02:30',
    ]))

  it('also by half an hour', () =>
    expect(times('15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00Z', 2)).toEqual([
      '2026-10-03T15:30',
      '2026-10-04T15:15',
    ]))
})

describe('where the clock is set back', () => {
  it('a time is due once, the first time', () =>
    expect(times('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', 2)).toEqual([
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ]))

  it('times of each hour are due in both', () =>
    expect(times('30 * * * *', 'Europe/Berlin', '2026-10-24T23:40Z', 3)).toEqual([
      '2026-10-25T00:30',
      '2026-10-25T01:30',
      '2026-10-25T02:30',
    ]))

  it('a time that passed is due once', () => {
    const { due } = table('30 2 * * *', 'Europe/Berlin')
    const first = time('2026-10-25T00:30Z')
    expect(due(first - 1, first + 90 * minute)).toEqual([{ cron: '30 2 * * *', time: first }])
    expect(due(first, first + 90 * minute)).toEqual([])
  })
})

describe('what is due', () => {
  const noon = time('2026-01-01T12:00:00Z')

  it('begins with the very millisecond', () => {
    const { due } = table('0 12 * * *')
    expect(due(noon - minute, noon - 1)).toEqual([])
    expect(due(noon - minute, noon)).toEqual([{ cron: '0 12 * * *', time: noon }])
  })

  it('is the last time of each expression, in the order of the times', () =>
    expect(table(['*/20 * * * *', '0 * * * *', '0 13 * * *']).due(noon - 1, noon + 50 * minute)).toEqual([
      { cron: '0 * * * *', time: noon },
      { cron: '*/20 * * * *', time: noon + 40 * minute },
    ]))

  it('is one time after a year, at the cost of one', () =>
    expect(table('* * * * *').due(noon, noon + 365 * 24 * 60 * minute)).toHaveLength(1))

  it('is the same before and after the next time was found out', () => {
    const { due, next } = table('*/10 * * * *')
    next(noon + 5 * minute)
    expect(due(noon - 1, noon + 6 * minute)).toEqual([{ cron: '*/10 * * * *', time: noon }])
    expect(due(noon + 5 * minute, noon + 6 * minute)).toEqual([])
    expect(due(noon + 5 * minute, noon + 10 * minute)).toHaveLength(1)
  })
})

describe('each expression that a deployment may have', () => {
  const number = (least: number, most: number) => fc.integer({ min: least, max: most })
  const part = (least: number, most: number) =>
    fc.oneof(
      fc.constant('*'),
      number(least, most).map(String),
      fc
        .tuple(number(least, most), number(least, most))
        .map((ends) => ends.toSorted((a, b) => a - b).join('-')),
      number(1, most).map((step) => `*/${step}`),
    )
  const field = (least: number, most: number) =>
    fc.array(part(least, most), { minLength: 1, maxLength: 2 }).map((parts) => parts.join(','))
  const expression = fc
    .tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 7))
    .map((fields) => fields.join(' '))
    .filter((text) => readCron(text) !== undefined)

  /** By hand, in UTC: whether a field has a value. */
  const has = (text: string, value: number, least: number, most: number): boolean =>
    text.split(',').some((each) => {
      const [values = '', step = '1'] = each.split('/')
      const [first, last] = values === '*' ? [least, most] : values.split('-').map(Number)
      return value >= first! && value <= (last ?? first!) && (value - first!) % Number(step) === 0
    })
  const isDue = (text: string, at: number): boolean => {
    const [minutes = '', hours = '', days = '', months = '', weekdays = ''] = text.split(' ')
    const date = new Date(at)
    const isDay = has(days, date.getUTCDate(), 1, 31)
    const weekday = date.getUTCDay()
    const isWeekday = has(weekdays, weekday, 0, 7) || (weekday === 0 && has(weekdays, 7, 0, 7))
    return (
      has(minutes, date.getUTCMinutes(), 0, 59) &&
      has(hours, date.getUTCHours(), 0, 23) &&
      has(months, date.getUTCMonth() + 1, 1, 12) &&
      (days === '*' ? isWeekday : weekdays === '*' ? isDay : isDay || isWeekday)
    )
  }

  it('has a next time, which is the first that fits', () =>
    fc.assert(
      fc.property(expression, number(0, 500_000), (text, from) => {
        const start = time('2026-01-01T00:00Z') + from * minute
        const next = table(text).next(start)
        expect(next).toBeLessThan(Number.POSITIVE_INFINITY)
        expect(isDue(text, next)).toBe(true)
        const days = Math.min(24 * 60, (next - start) / minute)
        for (let at = 1; at < days; at++) expect(isDue(text, start + at * minute)).toBe(false)
        expect(table(text).due(start, next)).toEqual([{ cron: text, time: next }])
      }),
      { numRuns: 30 },
    ))
})
