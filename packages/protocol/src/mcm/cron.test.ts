import { describe, expect, it } from 'vitest'
import { readCron, readTimeZone } from './cron.ts'

describe('cron expressions', () => {
  it.each([
    ['every minute', '* * * * *'],
    ['the first and the last value of each field', '0,59 0,23 1,31 1,12 0,7'],
    ['names', '0 3 * jan,DEC Mon-fri'],
    ['a range to Sunday', '0 0 * * fri-7'],
    ['steps', '*/59 */23 1-31/31 2-10/2 1-5/2'],
    ['leading zeros', '05 00 01 02 *'],
    ['29 February', '0 0 29 2 *'],
    ['one existing date among others', '0 0 31 2,4,5 *'],
    ['a date that never exists, or a day of the week', '0 0 30 2 1'],
  ])('accept %s', (_, text) => expect(readCron(text)).toEqual([text]))

  it('are separated by semicolons or bars, and keep their order', () =>
    expect(readCron(' 0 3 * * * ;*/5\t*  * * *|0 0 1 * *; ')).toEqual([
      '0 3 * * *',
      '*/5 * * * *',
      '0 0 1 * *',
    ]))

  it('may be an empty list', () => expect(readCron(' ; ')).toEqual([]))

  it.each([
    ['four fields', '* * * *'],
    ['seconds', '0 * * * * *'],
    ['a year', '* * * * * * 2030'],
    ['a word', '@daily'],
    ['a minute that does not exist', '60 * * * *'],
    ['an hour that does not exist', '0 24 * * *'],
    ['day 0', '0 0 0 * *'],
    ['day 32', '0 0 32 * *'],
    ['month 0', '0 0 1 0 *'],
    ['month 13', '0 0 1 13 *'],
    ['weekday 8', '0 0 * * 8'],
    ['30 February', '0 0 30 2 *'],
    ['31 April, June, September and November', '0 0 31 4,6,9,11 *'],
    ['a range with its end before its start', '0 22-3 * * *'],
    ['a range with three ends', '1-2-3 * * * *'],
    ['a step of zero', '*/0 * * * *'],
    ['a step beyond the field', '*/60 * * * *'],
    ['two steps', '*/2/3 * * * *'],
    ['a step of one value', '5/10 * * * *'],
    ['a step without a value', '*/ * * * *'],
    ['an empty part', '1,,2 * * * *'],
    ['a name of another field', 'mon * * * *'],
    ['the last day', '0 0 L * *'],
    ['the nearest working day', '0 0 1W * *'],
    ['the second Monday', '0 0 * * 1#2'],
    ['a question mark', '0 0 ? * *'],
    ['a sign', '+5 * * * *'],
    ['three digits', '005 * * * *'],
    ['the same one twice', '* * * * *;* * * *  *'],
    ['nine of them', Array.from({ length: 9 }, (_, at) => `${at} * * * *`).join(';')],
    ['one that is valid beside one that is not', '* * * * *; x'],
    ['a long one', `${Array(60).fill('0').join(',')} * * * *`],
    ['a name of an object', '0 0 * constructor *'],
  ])('refuse %s', (_, text) => expect(readCron(text)).toBeUndefined())

  it('are refused at any length', () => {
    expect(readCron(';'.repeat(1_000_000))).toBeUndefined()
    expect(readCron(`${'*'.repeat(1_000_000)} * * * *`)).toBeUndefined()
  })
})

describe('time zones', () => {
  it.each(['UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5'])(
    'accept %s',
    (zone) => expect(readTimeZone(zone)).toBe(zone),
  )

  it.each(['', 'Europe/Nowhere', '+02:00', '../UTC', 'Europe/Berlin\0', 'é', `A${'a'.repeat(64)}`])(
    'refuse %j',
    (zone) => expect(readTimeZone(zone)).toBeUndefined(),
  )
})
