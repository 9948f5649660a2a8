import { userLimits } from '@selvedge/protocol/tokens'
import { UsageError } from '../../failure.ts'

const seconds = { m: 60, h: 3600, d: 86_400, w: 604_800 } as const
/** RFC 3339, without leap seconds: a clock of a computer does not show them. */
const timeShape = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/
const dayMs = 86_400_000

/**
 * @param text a duration such as `12h` or `30d`, a time with its zone, or a date: the end of that day in UTC
 * @param now Unix milliseconds
 * @param limit the option that has it, and the days that it may be ahead
 * @returns ISO 8601 in UTC
 * @throws UsageError if it is neither, in the past, or too far ahead
 */
export function readUntil(
  text: string,
  now: number,
  { option, days } = { option: '--until', days: userLimits.shareDays as number },
): string {
  const at = timeOf(text, now)
  const refuse = (why: string): never => {
    throw new UsageError(
      `${option} ${JSON.stringify(text)} ${why}`,
      'Give a duration such as 12h or 30d, a date such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z.',
    )
  }
  if (Number.isNaN(at)) return refuse('is neither a duration nor a time')
  if (at < now + 60_000) return refuse('is in the past, or less than a minute ahead')
  if (at > now + days * dayMs) return refuse(`is more than ${days} days ahead`)
  return new Date(at).toISOString()
}

function timeOf(text: string, now: number): number {
  const [, count, unit] = /^(\d{1,5})([mhdw])$/.exec(text) ?? []
  if (count !== undefined) return now + Number(count) * seconds[unit as keyof typeof seconds] * 1000
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return dateOf(text) + dayMs
  // `Date` makes the 1st of March of the 30th of February.
  return timeShape.test(text) && !Number.isNaN(dateOf(text.slice(0, 10))) ? Date.parse(text) : Number.NaN
}

/** The beginning of a day in UTC; NaN for one that no calendar has. */
function dateOf(day: string): number {
  const at = Date.parse(`${day}T00:00:00Z`)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day) ? at : Number.NaN
}
