/**
 * When a function gets the event `scheduled`: cron expressions as in crontab (POSIX.1-2024, "crontab"), with the steps and names that all its
 * programs have. What is accepted here, the runtime can compute, and each expression has a next time.
 */
/** Expressions of one function at most, and characters of one. */
const limits = { expressions: 8, characters: 100 }

/** What `MCM.CRON` expects. */
export const expectedCron =
  'up to 8 cron expressions with five fields (minute, hour, day of the month, month, day of the week), each once, such as "*/5 * * * *" or "0 3 * * mon-fri", separated by ";" or "|". There are no seconds, and the date of an expression must exist'

interface Field {
  readonly least: number
  readonly most: number
  /** Names of the values, from `least` on. */
  readonly names?: readonly string[]
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const minute: Field = { least: 0, most: 59 }
const hour: Field = { least: 0, most: 23 }
const day: Field = { least: 1, most: 31 }
const month: Field = { least: 1, most: 12, names: months }
/** 0 and 7 are Sunday. */
const weekday: Field = { least: 0, most: 7, names: weekdays }

/** Of the longest year. */
const daysOfMonths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

function readValue(text: string, { least, most, names = [] }: Field): number | undefined {
  const named = names.indexOf(text.toLowerCase())
  if (named >= 0) return least + named
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN
  return value >= least && value <= most ? value : undefined
}

/** The values of one part of a field: `*`, a value or a range, the first and the last with an optional step. */
function readPart(text: string, field: Field): readonly number[] | undefined {
  const [values = '', stepText, ...more] = text.split('/')
  const [firstText = '', lastText, ...others] = values.split('-')
  const step = stepText === undefined ? 1 : readValue(stepText, { least: 1, most: field.most })
  const isAll = values === '*'
  if (more.length > 0 || others.length > 0 || step === undefined) return undefined
  if (stepText !== undefined && !isAll && lastText === undefined) return undefined
  const first = isAll ? field.least : readValue(firstText, field)
  const last = isAll ? field.most : lastText === undefined ? first : readValue(lastText, field)
  if (first === undefined || last === undefined || first > last) return undefined
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, at) => first + at * step)
}

function readField(text: string, field: Field): readonly number[] | undefined {
  const values: number[] = []
  for (const part of text.split(',')) {
    const read = readPart(part, field)
    if (!read) return undefined
    values.push(...read)
  }
  return values
}

/** A day of the week is another way to be due: an expression with one is due in every week of its months. */
function isSound(expression: string): boolean {
  const fields = expression.split(' ')
  if (fields.length !== 5 || expression.length > limits.characters) return false
  const [minutes, hours, days, ofYear, ofWeek] = [minute, hour, day, month, weekday].map((field, at) =>
    readField(fields[at]!, field),
  )
  if (!minutes || !hours || !days || !ofYear || !ofWeek) return false
  return fields[4] !== '*' || ofYear.some((each) => days.some((date) => date <= daysOfMonths[each - 1]!))
}

/** The expressions of `MCM.CRON`, as they were written, with single spaces. Undefined if one of them is not valid, or if there are too many. */
export function readCron(text: string): readonly string[] | undefined {
  if (text.length > limits.expressions * (limits.characters + 20)) return undefined
  const expressions = text
    .split(/[;|]/)
    .map((each) => each.trim().replaceAll(/\s+/g, ' '))
    .filter((each) => each !== '')
  const isUnique = new Set(expressions).size === expressions.length
  return isUnique && expressions.length <= limits.expressions && expressions.every(isSound)
    ? expressions
    : undefined
}

/** What `MCM.CRON_TZ` expects. */
export const expectedTimeZone = 'a name of the IANA time zone database, such as "Europe/Berlin" or "UTC"'

/** A time zone that the runtime knows, or undefined. */
export function readTimeZone(text: string): string | undefined {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(text)) return undefined
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone && text
  } catch {
    return undefined
  }
}

/** Whether a text is one valid expression. */
export const isCron = (text: string): boolean => readCron(text)?.length === 1
